#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/files.h"
#include "decode/options.h"
#include "text/vocabulary.h"

namespace residual::decode {

// Which file, and how much of it is taken.
struct ShortlistOptions {
  fs::path file;           // empty: none
  int64_t frequent = 100;  // the first symbols of the vocabulary, for every sentence
  int64_t best = 100;      // symbols for each of the source's, at most
};

// Fails at what looks at all symbols in any case: several models, and some searches.
void check_shortlist(const SearchOptions& search, size_t models,
                     const NameOfKey& name_of_key = std::identity());

// Target symbols that a sentence's translation may consist of: the most frequent ones, and the
// likely translations of its own symbols, as in Marian. Looking at a few hundred symbols instead of
// all saves most of the output layer's work.
class Shortlist {
 public:
  // Lines "target source probability", in any order: Marian's and residual shortlist's. Symbols
  // that the vocabularies lack are left out. An Error names the line, or says that hardly any
  // symbol is known.
  Shortlist(const ShortlistOptions& options, const text::Vocabulary& source,
            const text::Vocabulary& target);

  // Ascending, with the special symbols, those of `prefix`, and, if both vocabularies are one,
  // those of the source.
  std::vector<int32_t> symbols(std::span<const int32_t> source,
                               std::span<const int32_t> prefix) const;

 private:
  std::vector<std::vector<int32_t>> translations_;  // by source symbol
  int32_t first_rare_;                              // symbols below are for every sentence
  bool is_joined_;
};

}  // namespace residual::decode
