#pragma once

#include <string_view>

#include "fetch/split.h"

namespace residual::fetch {

// Words a reader would count: runs between blanks, and two ideographs or kana to a word.
double count_words(std::string_view sentence);

// Whether two texts that ought to be translations of each other look like sentences that are:
// 4 to 60 words each, lengths within a factor of 3, mostly letters, no control characters, and the
// second not merely the first again (80 % or more of its words are in it).
// REQUIRES: well-formed UTF-8.
bool is_plausible(const SentencePair& pair);

}  // namespace residual::fetch
