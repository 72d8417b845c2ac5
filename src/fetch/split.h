#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace residual::fetch {

struct SentencePair {
  std::string first, second;
  auto operator<=>(const SentencePair&) const = default;
};

// What is left of a sentence when case, digits and punctuation do not count: ASCII letters in
// lower case, every run of digits as one 0, bytes beyond ASCII as they are. Two sentences with the
// same folding are the same sentence to a test set.
std::string folded(std::string_view sentence);

// Leaves one of each pair, ordered by a hash of both sentences: the result depends on which pairs
// there are, not on how they came.
void drop_duplicates(std::vector<SentencePair>& pairs);

struct Split {
  std::vector<SentencePair> train, dev, test;
  size_t overlapping = 0;  // pairs that dev or test kept out of train
};

// The pairs with the smallest hashes become test, the next dev, the rest train. No sentence of
// either side, compared as folded, is in two of the three, nor twice in dev or test. Adding pairs
// to a corpus changes its test set as little as possible. Fails if nothing remains for train.
Split split_by_content(std::vector<SentencePair> pairs, size_t dev, size_t test);

}  // namespace residual::fetch
