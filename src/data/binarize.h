#pragma once

#include <string>

#include "data/corpus.h"
#include "data/pairs.h"
#include "text/vocabulary.h"

namespace residual::data {

struct TokenCounts {
  uint64_t tokens = 0;   // </s> included
  uint64_t unknown = 0;  // number of <unk> among them
};

struct Binarized {
  uint64_t pairs = 0;
  TokenCounts source, target;
};

// Converts segmented text to ids on all cores and writes them to a corpus and, unless null, to a
// corpus of the reverse direction. The caller commits both.
Binarized binarize(const std::string& label, const PairFiles& pieces, uint64_t pairs,
                   const text::Vocabulary& source_vocabulary,
                   const text::Vocabulary& target_vocabulary, CorpusWriter& corpus,
                   CorpusWriter* reversed);

}  // namespace residual::data
