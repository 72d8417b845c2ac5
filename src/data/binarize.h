#pragma once

#include <string>

#include "data/corpus.h"
#include "data/pairs.h"
#include "text/vocabulary.h"

namespace residual::data {

struct TokenCounts {
  uint64_t tokens = 0;   // with </s>
  uint64_t unknown = 0;  // <unk> among them
};

struct Binarized {
  uint64_t pairs = 0;
  TokenCounts source, target;
};

// Segmented text to ids, on all cores, into a corpus (and, unless null, into one of the other
// direction). Neither is committed.
Binarized binarize(const std::string& label, const PairFiles& pieces, uint64_t pairs,
                   const text::Vocabulary& source_vocabulary,
                   const text::Vocabulary& target_vocabulary, CorpusWriter& corpus,
                   CorpusWriter* reversed);

}  // namespace residual::data
