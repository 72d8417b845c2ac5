#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/corpus.h"

// Grouping of a corpus's pairs into batches.
namespace residual::data {

// How pairs form batches: pairs of similar length, regrouped every epoch; or exactly fairseq
// 0.12.2's batches, which stay the same for the run, only their order changes.
enum class Composition { residual, fairseq };
constexpr auto names(Composition) { return std::array{"residual", "fairseq"}; }

// The limits of a batch and of its pairs. Lengths include EOS and the source prefix.
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

// All kept pairs, each once. Batch b is pairs[ends[b - 1], ends[b]).
struct Grouping {
  std::vector<uint32_t> pairs;
  std::vector<uint64_t> ends;
};

// Groups pairs of similar length, differently for each (seed, stream). A batch is full when its
// source or its target side would exceed max_tokens. Nothing is padded, so these are real tokens.
// The low 16 bits of `stream` must be 0.
Grouping compose_by_length(const Corpus& corpus, const BatchLimits& limits, uint64_t seed,
                           uint64_t stream);

// Returns fairseq 0.12.2's batches for this seed, in the order before the epoch's shuffle. A batch
// is full when its padded size, sentences times longest side, would exceed max_tokens. It holds
// fewer than `multiple` sentences or a multiple of it.
Grouping compose_as_fairseq(const Corpus& corpus, const BatchLimits& limits, uint32_t seed,
                            int64_t multiple);

// Shuffles as numpy.random.seed(seed); numpy.random.shuffle(values) does, with the legacy
// generator.
void numpy_shuffle(std::span<uint32_t> values, uint32_t seed);

}  // namespace residual::data
