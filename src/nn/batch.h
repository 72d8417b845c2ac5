#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "ops/segments.h"
#include "ops/tensor.h"
#include "text/vocabulary.h"

namespace residual::nn {

// Sentences as packed rows: no padding anywhere.
struct ModelBatch {
  Tensor source, source_positions;  // [source tokens]; empty for a language model
  ops::Segments sources;
  Tensor input, input_positions;  // the decoder's [target tokens]; empty for a masked model
  ops::Segments inputs;
  Tensor target;    // symbols to predict [predictions]
  Tensor selected;  // masked: the rows of the encoder that predict; otherwise undefined

  int64_t predictions() const { return target.defined() ? target.size(0) : 0; }
};

// Sentence s is ids [offsets[s], offsets[s + 1]) and ends with </s>.
struct Sentences {
  std::span<const int32_t> ids;
  std::span<const int32_t> offsets;  // the first is 0, the last ids.size()
};

// The decoder sees </s>, or `start`, and the target without its last token (fairseq's "previous
// output").
ModelBatch translation_batch(const Sentences& source, const Sentences& target,
                             at::Device device = at::kCPU);
ModelBatch language_batch(const Sentences& text, at::Device device = at::kCPU,
                          int32_t start = text::Vocabulary::kEos);

// BERT's objective (Devlin et al. 2019): a share of the tokens is to be predicted; of these 80 %
// appear as <s>, which nothing else uses, 10 % as a random symbol, 10 % as they are. `random`
// decides by place, so the same call hides the same tokens. At least one token is hidden.
ModelBatch masked_batch(const Sentences& text, int64_t symbols, double share, const Random& random,
                        at::Device device = at::kCPU);

}  // namespace residual::nn
