#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/corpus.h"

namespace residual::data {

struct LexiconOptions {
  int64_t pairs = 100'000;  // pairs to learn from, evenly taken from all; 0: all
  int64_t longest = 100;    // pairs with more symbols on a side are skipped
  int64_t iterations = 5;
  int64_t best = 100;   // most translations kept for a symbol
  double least = 1e-4;  // lowest probability of a kept translation
};

// A translation of a source symbol and its probability.
struct Translated {
  int32_t symbol;
  float probability;
};

// Returns the translations t(y | x) of each source symbol x, most probable first, by IBM Model 1
// (Brown et al. 1993): each target symbol is aligned to a source symbol or to none, all equally
// likely a priori. Expectation maximisation starts from uniform t. The result depends only on the
// corpora and the options. `progress` is called for each pair, pairs_of() times `iterations`.
std::vector<std::vector<Translated>> learn_lexicon(std::span<const Corpus> corpora,
                                                   int64_t source_symbols,
                                                   const LexiconOptions& options,
                                                   const std::function<void()>& progress);

// Returns the number of pairs in each iteration.
int64_t pairs_of(std::span<const Corpus> corpora, const LexiconOptions& options);

}  // namespace residual::data
