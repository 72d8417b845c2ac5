#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/corpus.h"

namespace residual::data {

struct LexiconOptions {
  int64_t pairs = 100'000;  // looked at, evenly taken from all; 0: all
  int64_t longest = 100;    // pairs with more symbols on a side are left out
  int64_t iterations = 5;
  int64_t best = 100;   // translations kept of a symbol, at most
  double least = 1e-4;  // probability of those kept
};

// A translation of a source symbol, and how likely it is.
struct Translated {
  int32_t symbol;
  float probability;
};

// The translations t(y | x) of each source symbol x, the likeliest first, by IBM's Model 1 (Brown
// et al. 1993): every target symbol comes from one of the source's, or from none, all of them
// equally likely beforehand. Expectation maximisation from equal t. The result is a function of the
// corpora alone. `progress` is told of pairs as they are done, pairs_of() times `iterations`.
std::vector<std::vector<Translated>> learn_lexicon(std::span<const Corpus> corpora,
                                                   int64_t source_symbols,
                                                   const LexiconOptions& options,
                                                   const std::function<void()>& progress);

// How many pairs each iteration looks at.
int64_t pairs_of(std::span<const Corpus> corpora, const LexiconOptions& options);

}  // namespace residual::data
