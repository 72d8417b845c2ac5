#pragma once

#include <string_view>

#include "fetch/split.h"

namespace residual::fetch {

// Returns the number of words as a reader counts them: runs between blanks, or two ideographs or
// kana per word.
double count_words(std::string_view sentence);

// Returns whether a pair looks like a translated sentence: 4 to 60 words each, lengths within a
// factor of 3, mostly letters, no control characters, and the second side not a copy of the first
// (80 % or more of its words in common). REQUIRES: well-formed UTF-8.
bool is_plausible(const SentencePair& pair);

}  // namespace residual::fetch
