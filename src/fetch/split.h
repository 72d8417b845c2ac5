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

// Returns the sentence without case, digits and punctuation: ASCII letters in lower case, every run
// of digits as one 0, bytes beyond ASCII unchanged. Sentences with the same folding count as the
// same sentence in a test set.
std::string folded(std::string_view sentence);

// Keeps one of each pair, ordered by a hash of both sentences, so that the result does not depend
// on the order of the input.
void drop_duplicates(std::vector<SentencePair>& pairs);

struct Split {
  std::vector<SentencePair> train, dev, test;
  size_t overlapping = 0;  // pairs excluded from train because of dev or test
};

// Splits by hash: the pairs with the smallest hashes become test, the next dev, the rest train. No
// sentence of either side, compared as folded, is in two of the three, or twice in dev or test.
// Adding pairs to a corpus changes its test set as little as possible. Throws an Error if nothing
// remains for train.
Split split_by_content(std::vector<SentencePair> pairs, size_t dev, size_t test);

}  // namespace residual::fetch
