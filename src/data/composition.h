#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/corpus.h"

// Which pairs of a corpus go into one batch together.
namespace residual::data {

// What one batch may hold, and which pairs are left out. Lengths count EOS and the source prefix.
struct BatchLimits {
  int64_t max_tokens, max_sentences;  // 0 sentences: any number
  int64_t max_source, max_target;
  int64_t source_prefix = 0;  // ids put before every source sentence

  Corpus::Lengths lengths(const Corpus& corpus, int64_t pair) const {
    const Corpus::Lengths at = corpus.lengths(pair);
    return {at.source + source_prefix, at.target};
  }
  bool keeps(Corpus::Lengths at) const {
    return at.source <= max_source && at.target <= max_target;
  }
};

// Every kept pair once. Batch b is pairs[ends[b - 1], ends[b]).
struct Composition {
  std::vector<uint32_t> pairs;
  std::vector<uint64_t> ends;
};

// Pairs of similar length, chosen anew by every (seed, stream): a batch is full when its source or
// its target side would exceed max_tokens. Nothing is padded, so these are real tokens. `stream`
// must leave its low 16 bits 0.
Composition compose_by_length(const Corpus& corpus, const BatchLimits& limits, uint64_t seed,
                              uint64_t stream);

// fairseq 0.12.2's batches for this seed, in its order before the epoch's shuffle: a batch is full
// when sentences times longest side, the padded size, would exceed max_tokens, and holds fewer
// than `multiple` sentences or a multiple of it.
Composition compose_as_fairseq(const Corpus& corpus, const BatchLimits& limits, uint32_t seed,
                               int64_t multiple);

// numpy.random.seed(seed); numpy.random.shuffle(values): the legacy generator's stream.
void numpy_shuffle(std::span<uint32_t> values, uint32_t seed);

}  // namespace residual::data
