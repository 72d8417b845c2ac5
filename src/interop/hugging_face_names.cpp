#include "interop/hugging_face_names.h"

#include <algorithm>

#include "base/error.h"
#include "model/parameters.h"
#include "text/vocabulary.h"

namespace residual::interop {
namespace {

using schemes::Side;
using text::Vocabulary;

class Names {
 public:
  Names(Family family, const model::Config& config)
      : family_(family),
        c_(config),
        side_(family == Family::bert ? Side::encoder : Side::decoder) {}

  std::vector<NamedParts> all() {
    const int64_t layers = model::stack(c_, side_).layers;
    for (int64_t l = 0; l < layers; ++l) {
      switch (family_) {
        case Family::llama:
          llama(l);
          break;
        case Family::gpt2:
          gpt2(l);
          break;
        case Family::bert:
          bert(l);
          break;
      }
    }
    if (family_ == Family::llama) norm(residual("final_norm"), "model.norm");
    if (family_ == Family::gpt2) norm(residual("final_norm"), "transformer.ln_f");
    if (family_ == Family::bert) {
      norm(model::kEmbeddingNorm, "bert.embeddings.LayerNorm");
      linear(model::kHead, {{"cls.predictions.transform.dense", c_.width}}, c_.width);
      norm(model::kHeadNorm, "cls.predictions.transform.LayerNorm");
    }
    return std::move(parts_);
  }

 private:
  struct Part {
    std::string name;
    int64_t rows;
  };

  std::string block(int64_t layer, int place) const {
    return model::block_name(c_, side_, static_cast<int>(2 * layer) + place);
  }
  std::string residual(const std::string& name) const {
    return (side_ == Side::encoder ? "encoder.residual." : "decoder.residual.") + name;
  }
  std::string block_norm(int64_t layer, int place) const {
    return residual(fmt::format("norm.{}", 2 * layer + place));
  }

  void linear(const std::string& ours, const std::vector<Part>& parts, int64_t inputs) {
    const bool turned = family_ == Family::gpt2;  // its "Conv1D"
    NamedParts weight{ours + ".weight", {}}, bias{ours + ".bias", {}};
    for (const auto& part : parts) {
      weight.theirs.push_back({part.name + ".weight", {part.rows, inputs}, turned});
      // Llama has them in attention, in feed-forward blocks, in both or nowhere.
      bias.theirs.push_back({part.name + ".bias", {part.rows}, false, family_ == Family::llama});
    }
    parts_.push_back(std::move(weight));
    if (c_.biases) parts_.push_back(std::move(bias));
  }
  void norm(const std::string& ours, const std::string& theirs) {
    parts_.push_back({ours + ".weight", {{theirs + ".weight", {c_.width}}}});
    if (c_.norm == model::Norm::layer)
      parts_.push_back({ours + ".bias", {{theirs + ".bias", {c_.width}}}});
  }

  void llama(int64_t l) {
    const std::string layer = fmt::format("model.layers.{}.", l);
    const int64_t d = c_.width, kv = c_.kv_width();
    norm(block_norm(l, 0), layer + "input_layernorm");
    linear(block(l, 0) + ".qkv",
           {{layer + "self_attn.q_proj", d},
            {layer + "self_attn.k_proj", kv},
            {layer + "self_attn.v_proj", kv}},
           d);
    linear(block(l, 0) + ".output", {{layer + "self_attn.o_proj", d}}, d);
    norm(block_norm(l, 1), layer + "post_attention_layernorm");
    linear(block(l, 1) + ".inner",
           {{layer + "mlp.gate_proj", c_.inner}, {layer + "mlp.up_proj", c_.inner}}, d);
    linear(block(l, 1) + ".outer", {{layer + "mlp.down_proj", d}}, c_.inner);
  }
  void gpt2(int64_t l) {
    const std::string layer = fmt::format("transformer.h.{}.", l);
    const int64_t d = c_.width;
    norm(block_norm(l, 0), layer + "ln_1");
    linear(block(l, 0) + ".qkv", {{layer + "attn.c_attn", 3 * d}}, d);
    linear(block(l, 0) + ".output", {{layer + "attn.c_proj", d}}, d);
    norm(block_norm(l, 1), layer + "ln_2");
    linear(block(l, 1) + ".inner", {{layer + "mlp.c_fc", c_.inner}}, d);
    linear(block(l, 1) + ".outer", {{layer + "mlp.c_proj", d}}, c_.inner);
  }
  void bert(int64_t l) {
    const std::string layer = fmt::format("bert.encoder.layer.{}.", l);
    const std::string self = layer + "attention.self.";
    const int64_t d = c_.width;
    linear(block(l, 0) + ".qkv", {{self + "query", d}, {self + "key", d}, {self + "value", d}}, d);
    linear(block(l, 0) + ".output", {{layer + "attention.output.dense", d}}, d);
    norm(block_norm(l, 0), layer + "attention.output.LayerNorm");
    linear(block(l, 1) + ".inner", {{layer + "intermediate.dense", c_.inner}}, d);
    linear(block(l, 1) + ".outer", {{layer + "output.dense", d}}, c_.inner);
    norm(block_norm(l, 1), layer + "output.LayerNorm");
  }

  Family family_;
  const model::Config& c_;
  Side side_;
  std::vector<NamedParts> parts_;
};

}  // namespace

std::vector<NamedParts> named_parts(Family family, const model::Config& config) {
  return Names(family, config).all();
}

const char* prefix_of(Family family) {
  switch (family) {
    case Family::llama:
      return "model.";
    case Family::gpt2:
      return "transformer.";
    case Family::bert:
      break;
  }
  return "bert.";
}

Renumbering::Renumbering(std::vector<int64_t> special, int64_t count) : count_(count) {
  require(special.size() == Vocabulary::kSpecials, "special_numbers: expected {} numbers, got {}",
          int{Vocabulary::kSpecials}, special.size());
  theirs_ = std::move(special);
  extra_.assign(theirs_.size(), true);
  std::vector<bool> used(static_cast<size_t>(count));
  // A number that several have belongs to the one that generation may give.
  for (const int32_t id :
       {Vocabulary::kEos, Vocabulary::kUnk, Vocabulary::kBos, Vocabulary::kPad}) {
    const int64_t number = theirs_[static_cast<size_t>(id)];
    require(number >= -1 && number < count, "special_numbers: {} is not the number of a symbol",
            number);
    if (number < 0 || used[static_cast<size_t>(number)]) continue;
    used[static_cast<size_t>(number)] = true;
    extra_[static_cast<size_t>(id)] = false;
  }
  for (int64_t number = 0; number < count; ++number) {
    if (used[static_cast<size_t>(number)]) continue;
    theirs_.push_back(number);
    extra_.push_back(false);
  }
}

std::vector<float> Renumbering::to_ours(std::span<const float> theirs, int64_t width) const {
  std::vector<float> rows;
  rows.reserve(static_cast<size_t>(ours() * width));
  for (const int64_t number : theirs_) {
    if (number < 0) {
      rows.insert(rows.end(), static_cast<size_t>(width), 0.0F);
    } else {
      const auto row = theirs.subspan(static_cast<size_t>(number * width), width);
      rows.insert(rows.end(), row.begin(), row.end());
    }
  }
  return rows;
}

std::vector<float> Renumbering::to_theirs(std::span<const float> ours, int64_t width) const {
  std::vector<float> rows(static_cast<size_t>(count_ * width));
  for (size_t id = 0; id < theirs_.size(); ++id) {
    if (extra_[id]) continue;
    std::ranges::copy(ours.subspan(id * width, width), rows.begin() + theirs_[id] * width);
  }
  return rows;
}

std::vector<float> transposed(std::span<const float> matrix, int64_t rows, int64_t columns) {
  std::vector<float> turned(matrix.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) turned[j * rows + i] = matrix[i * columns + j];
  }
  return turned;
}

}  // namespace residual::interop
