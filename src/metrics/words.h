#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Words and letter case as Python's str.split, rstrip and lower see them, which is what
// sacreBLEU's scores are made of. Text is well-formed UTF-8.
namespace residual::metrics {

// Bytes of the white space that starts at `at`, 0 if none does. White space is Unicode's, and the
// separators U+001C to U+001F.
size_t space_length(std::string_view text, size_t at);

std::string_view strip_end(std::string_view text);
std::string_view strip(std::string_view text);

// The runs between white space; replaces `words`, whose views last as long as `text`.
void split_words(std::string_view text, std::vector<std::string_view>& words);

// Unicode's full mapping in no particular language: a capital sigma that ends a word becomes the
// final form.
std::string lower(std::string_view text);

}  // namespace residual::metrics
