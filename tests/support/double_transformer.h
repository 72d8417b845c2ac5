#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
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
    Rows x = embed(schemes::Side::encoder, source);
    if (c_.has_bert_ends()) x = norm(model::kEmbeddingNorm)(x);
    return stack(schemes::Side::encoder, x, nullptr);
  }

  // Logits [target tokens, vocabulary] when the target is fed to the decoder behind the form's
  // first symbol. A language model takes no notice of the source.
  Rows logits(const std::vector<int32_t>& source, const std::vector<int32_t>& target) const {
    const Rows memory = c_.has_encoder() ? encode(source) : Rows();
    std::vector<int32_t> input = target;
    input.insert(input.begin(), model::start_symbol(c_));
    input.pop_back();
    const Rows hidden =
        stack(schemes::Side::decoder, embed(schemes::Side::decoder, input), &memory);
    return project(hidden);
  }

  Rows project(const Rows& hidden) const {
    Rows x = hidden;
    if (c_.has_bert_ends()) {
      x = linear(x, model::kHead, 0, c_.width);
      for (auto& v : x.at) v = activated(v);
      x = norm(model::kHeadNorm)(x);
    }
    return product(x, model::output_embedding(c_), c_.has_output_bias() ? model::kOutputBias : "",
                   0, c_.output_vocabulary());
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
        for (auto& v : inner.at) v = t_.activated(v);
        if (t_.c_.gated) {
          const Rows factors = t_.linear(x, name + ".inner", t_.c_.inner, t_.c_.inner);
          inner = map_rows(inner, factors, std::multiplies());
        }
        return t_.linear(inner, name + ".outer", 0, t_.c_.width);
      }
      const int64_t d = t_.c_.width, kept = t_.c_.kv_width();
      const bool is_self = opens_layer(k);
      Rows q = t_.linear(x, name + (is_self ? ".qkv" : ".query"), 0, d);
      const Rows& seen = is_self ? x : *memory_;
      const std::string kv = name + (is_self ? ".qkv" : ".key_value");
      Rows key = t_.linear(seen, kv, is_self ? d : 0, kept);
      const Rows value = t_.linear(seen, kv, is_self ? d + kept : kept, kept);
      if (is_self && t_.c_.positions == model::Positions::rotary) {
        t_.rotate(q);
        t_.rotate(key);
      }
      const bool is_causal = is_self && side_ == schemes::Side::decoder;
      return t_.linear(t_.attend(q, key, value, is_causal), name + ".output", 0, d);
    }

   private:
    const DoubleTransformer& t_;
    schemes::Side side_;
    const Rows* memory_;
  };

  Rows embed(schemes::Side side, const std::vector<int32_t>& ids) const {
    const auto d = static_cast<size_t>(c_.width);
    const auto& table = p_.at(side == schemes::Side::encoder ? model::source_embedding(c_)
                                                             : model::target_embedding(c_));
    Rows out{d, {}};
    std::vector<float> position(d);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (c_.positions == model::Positions::sinusoidal)
        model::sinusoid(static_cast<int64_t>(i), position, c_.form);
      if (c_.positions == model::Positions::learned)
        std::copy_n(p_.at(model::position_embedding(side)).data() + i * d, d, position.data());
      for (size_t j = 0; j < d; ++j)
        out.at.push_back(c_.embedding_factor() * table[ids[i] * d + j] + position[j]);
    }
    return out;
  }

  double activated(double x) const {
    switch (c_.activation) {
      case model::Activation::relu:
        return std::max(x, 0.0);
      case model::Activation::swish:
        return x / (1 + std::exp(-x));
      case model::Activation::gelu:
        return x / 2 * (1 + std::erf(x / std::sqrt(2)));
      case model::Activation::gelu_tanh:
        break;
    }
    return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1)) * (x + 0.044715 * x * x * x)));
  }

  // Pairs (j, width / 2 + j) of each head, as complex numbers.
  void rotate(Rows& rows) const {
    const auto width = static_cast<size_t>(c_.head_width()), half = width / 2;
    for (size_t i = 0; i < rows.at.size(); ++i) {
      const size_t place = i / rows.width, j = i % rows.width % width;
      if (j >= half) continue;
      const double power = -2.0 * static_cast<double>(j) / static_cast<double>(width);
      const double angle = static_cast<double>(place) * std::pow(c_.rotary_base, power);
      const auto turned = std::complex(rows.at[i], rows.at[i + half]) * std::polar(1.0, angle);
      rows.at[i] = turned.real();
      rows.at[i + half] = turned.imag();
    }
  }

  // Outside of the stacks.
  DoubleArithmetic::Norm norm(const std::string& name) const {
    DoubleArithmetic arithmetic = this->arithmetic();
    const auto made = arithmetic.norm(name, schemes::kNormEpsilon);
    set(arithmetic, "");
    return made;
  }
  DoubleArithmetic arithmetic() const {
    return DoubleArithmetic(static_cast<size_t>(c_.width), c_.norm == model::Norm::rms,
                            c_.norm_epsilon());
  }
  void set(const DoubleArithmetic& arithmetic, const std::string& prefix) const {
    for (const auto& [name, values] : arithmetic.parameters()) {
      const auto& given = p_.at(prefix + name);
      values->assign(given.begin(), given.end());
    }
  }

  Rows stack(schemes::Side side, const Rows& x, const Rows* memory) const {
    DoubleArithmetic arithmetic = this->arithmetic();
    const auto scheme = schemes::make(arithmetic, model::stack(c_, side), c_.residual);
    set(arithmetic, side == schemes::Side::encoder ? "encoder.residual." : "decoder.residual.");
    return scheme->forward(x, Blocks(*this, side, memory));
  }

  Rows linear(const Rows& x, const std::string& name, int64_t first, int64_t rows) const {
    return product(x, name + ".weight", c_.biases ? name + ".bias" : "", first, rows);
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
    const auto group = static_cast<size_t>(c_.heads / c_.kv_heads());
    Rows out{q.width, std::vector<double>(q.at.size())};
    for (size_t i = 0; i < q.rows(); ++i) {
      const size_t seen = is_causal ? i + 1 : k.rows();
      for (size_t h = 0; h < q.width; h += width) {
        const size_t of_keys = h / width / group * width;
        std::vector<double> p(seen);
        for (size_t j = 0; j < seen; ++j) {
          for (size_t e = 0; e < width; ++e) {
            p[j] += q.at[i * q.width + h + e] * k.at[j * k.width + of_keys + e] /
                    std::sqrt(static_cast<double>(width));
          }
        }
        const double top = std::ranges::max(p);
        double sum = 0;
        for (auto& value : p) sum += value = std::exp(value - top);
        for (size_t j = 0; j < seen; ++j) {
          for (size_t e = 0; e < width; ++e)
            out.at[i * q.width + h + e] += p[j] / sum * v.at[j * v.width + of_keys + e];
        }
      }
    }
    return out;
  }

  const model::Config& c_;
  const Parameters& p_;
};

}  // namespace residual::test
