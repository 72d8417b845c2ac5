#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/config.h"
#include "nn/batch.h"
#include "nn/parameters.h"
#include "schemes/registry.h"
#include "text/vocabulary.h"

// Small random models of every scheme, and sentences for them.
namespace residual::schemes {

inline void PrintTo(const Choice& scheme, std::ostream* out) {
  *out << scheme.name << " " << scheme.variant;
}

}  // namespace residual::schemes

namespace residual::test {

inline model::Config tiny_config(const schemes::Choice& scheme = {}) {
  model::Config c;
  c.encoder_layers = 2;
  c.decoder_layers = 3;
  c.width = 8;
  c.inner = 12;
  c.heads = 2;
  c.max_positions = 64;
  c.source_vocabulary = c.target_vocabulary = 23;
  c.residual = scheme;
  return c;
}

// Every scheme in every variant.
inline std::vector<schemes::Choice> all_schemes() {
  std::vector<schemes::Choice> all;
  for (const auto& entry : schemes::registry()) {
    if (entry.variants.empty()) all.push_back({.name = entry.name});
    for (const auto& variant : entry.variants) {
      all.push_back({.name = entry.name, .variant = variant});
    }
  }
  return all;
}

inline std::string scheme_name(const schemes::Choice& scheme) {
  std::string name = scheme.name + scheme.variant;
  std::erase(name, '-');
  return name;
}

// Moves every parameter a little, so that norms, biases and weights that start at 0 or 1 matter.
inline void perturb(nn::Parameters& parameters, double size = 0.1) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters.list().size(); ++i) {
    Tensor leaf = parameters[i];
    Tensor noise = at::empty(leaf.sizes(), at::kDouble);
    const Random random(17, i);
    for (int64_t j = 0; j < noise.numel(); ++j) {
      noise.data_ptr<double>()[j] = size * (2 * random.uniform(j) - 1);
    }
    leaf.add_(noise.to(leaf.scalar_type()));
  }
}

struct Text {
  std::vector<int32_t> ids, offsets = {0};

  nn::Sentences sentences() const { return {ids, offsets}; }
};

// Sentences of the given lengths, </s> included, with random symbols.
inline Text random_text(const std::vector<int>& lengths, int64_t symbols, uint64_t seed) {
  Text text;
  const Random random(seed);
  for (const int length : lengths) {
    for (int i = 0; i + 1 < length; ++i) {
      const auto others = static_cast<uint64_t>(symbols - text::Vocabulary::kSpecials);
      text.ids.push_back(text::Vocabulary::kSpecials +
                         static_cast<int32_t>(random.below(text.ids.size(), others)));
    }
    text.ids.push_back(text::Vocabulary::kEos);
    text.offsets.push_back(static_cast<int32_t>(text.ids.size()));
  }
  return text;
}

}  // namespace residual::test
