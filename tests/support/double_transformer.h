#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "model/parameters.h"
#include "model/positions.h"
#include "schemes/make.h"
#include "support/double_arithmetic.h"
#include "text/vocabulary.h"

// A Transformer as its definition has it: doubles, one sentence at a time, whole targets, nothing
// cached or fused. Schemes run on DoubleArithmetic.
namespace residual::test {

class DoubleTransformer {
 public:
  using Parameters = std::map<std::string, std::vector<float>>;

  DoubleTransformer(const model::Config& config, const Parameters& parameters)
      : c_(config), p_(parameters) {}

  // The encoder's output [source tokens, width].
  Rows encode(const std::vector<int32_t>& source) const {
    return stack(schemes::Side::encoder, embed(model::source_embedding(c_), source), nullptr);
  }

  // Logits [target tokens, vocabulary] when the target is fed to the decoder behind </s>. A
  // language model takes no notice of the source.
  Rows logits(const std::vector<int32_t>& source, const std::vector<int32_t>& target) const {
    const Rows memory = c_.has_encoder() ? encode(source) : Rows();
    std::vector<int32_t> input = target;
    std::ranges::rotate(input, input.end() - 1);  // </s> first
    const Rows hidden =
        stack(schemes::Side::decoder, embed(model::target_embedding(c_), input), &memory);
    return project(hidden);
  }

  Rows project(const Rows& hidden) const {
    return product(hidden, model::output_embedding(c_), "", 0, c_.output_vocabulary());
  }

 private:
  class Blocks final : public schemes::Blocks<DoubleArithmetic> {
   public:
    Blocks(const DoubleTransformer& t, schemes::Side side, const Rows* memory)
        : schemes::Blocks<DoubleArithmetic>(model::stack(t.c_, side).blocks(),
                                            model::stack(t.c_, side).blocks_per_layer),
          t_(t),
          side_(side),
          memory_(memory) {}

    Rows operator()(int k, const Rows& x) const override {
      const std::string name = model::block_name(t_.c_, side_, k);
      if (closes_layer(k)) {
        Rows inner = t_.linear(x, name + ".inner", 0, t_.c_.inner);
        for (auto& v : inner.at) v = std::max(v, 0.0);
        return t_.linear(inner, name + ".outer", 0, t_.c_.width);
      }
      const int64_t d = t_.c_.width;
      const bool is_self = opens_layer(k);
      const Rows q = t_.linear(x, name + (is_self ? ".qkv" : ".query"), 0, d);
      const Rows& seen = is_self ? x : *memory_;
      const std::string kv = name + (is_self ? ".qkv" : ".key_value");
      const Rows key = t_.linear(seen, kv, is_self ? d : 0, d);
      const Rows value = t_.linear(seen, kv, is_self ? 2 * d : d, d);
      const bool is_causal = is_self && side_ == schemes::Side::decoder;
      return t_.linear(t_.attend(q, key, value, is_causal), name + ".output", 0, d);
    }

   private:
    const DoubleTransformer& t_;
    schemes::Side side_;
    const Rows* memory_;
  };

  Rows embed(const std::string& table, const std::vector<int32_t>& ids) const {
    const auto d = static_cast<size_t>(c_.width);
    Rows out{d, {}};
    std::vector<float> position(d);
    for (size_t i = 0; i < ids.size(); ++i) {
      model::sinusoid(static_cast<int64_t>(i), position);
      for (size_t j = 0; j < d; ++j) {
        out.at.push_back(std::sqrt(static_cast<double>(d)) * p_.at(table)[ids[i] * d + j] +
                         position[j]);
      }
    }
    return out;
  }

  Rows stack(schemes::Side side, const Rows& x, const Rows* memory) const {
    DoubleArithmetic arithmetic(static_cast<size_t>(c_.width));
    const auto scheme = schemes::make(arithmetic, model::stack(c_, side), c_.residual);
    const std::string prefix =
        side == schemes::Side::encoder ? "encoder.residual." : "decoder.residual.";
    for (const auto& [name, values] : arithmetic.parameters()) {
      const auto& given = p_.at(prefix + name);
      values->assign(given.begin(), given.end());
    }
    return scheme->forward(x, Blocks(*this, side, memory));
  }

  Rows linear(const Rows& x, const std::string& name, int64_t first, int64_t rows) const {
    return product(x, name + ".weight", name + ".bias", first, rows);
  }

  // x W^T + b for rows [first, first + rows) of W and b.
  Rows product(const Rows& x, const std::string& weight, const std::string& bias, int64_t first,
               int64_t rows) const {
    const auto& w = p_.at(weight);
    Rows out{static_cast<size_t>(rows), {}};
    for (size_t i = 0; i < x.rows(); ++i) {
      for (int64_t o = first; o < first + rows; ++o) {
        double sum = bias.empty() ? 0.0 : p_.at(bias)[o];
        for (size_t j = 0; j < x.width; ++j) sum += w[o * x.width + j] * x.at[i * x.width + j];
        out.at.push_back(sum);
      }
    }
    return out;
  }

  Rows attend(const Rows& q, const Rows& k, const Rows& v, bool is_causal) const {
    const auto width = static_cast<size_t>(c_.head_width());
    Rows out{q.width, std::vector<double>(q.at.size())};
    for (size_t i = 0; i < q.rows(); ++i) {
      const size_t seen = is_causal ? i + 1 : k.rows();
      for (size_t h = 0; h < q.width; h += width) {
        std::vector<double> p(seen);
        for (size_t j = 0; j < seen; ++j) {
          for (size_t e = h; e < h + width; ++e) {
            p[j] += q.at[i * q.width + e] * k.at[j * q.width + e] /
                    std::sqrt(static_cast<double>(width));
          }
        }
        const double top = std::ranges::max(p);
        double sum = 0;
        for (auto& value : p) sum += value = std::exp(value - top);
        for (size_t j = 0; j < seen; ++j) {
          for (size_t e = h; e < h + width; ++e) {
            out.at[i * q.width + e] += p[j] / sum * v.at[j * q.width + e];
          }
        }
      }
    }
    return out;
  }

  const model::Config& c_;
  const Parameters& p_;
};

}  // namespace residual::test
