#pragma once

#include <string_view>
#include <vector>

#include "text/unicode.h"

// White space and line ends as Python defines them: subword-nmt, fairseq and sacreBLEU split there.
namespace residual::text {

// Python's str.isspace(), the same set as \s of Python's re: Unicode's bidirectional classes B, S
// and WS plus category Zs.
constexpr bool is_whitespace(char32_t c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// Returns the size in bytes of the white space that starts at `at`, or 0. REQUIRES: well-formed
// UTF-8.
inline size_t whitespace_at(std::string_view text, size_t at) {
  const size_t start = at;
  return is_whitespace(next_code_point(text, at)) ? at - start : 0;
}

// Returns the start of the code point that ends before `at`. REQUIRES: at > 0, well-formed UTF-8.
inline size_t previous_code_point(std::string_view text, size_t at) {
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return at;
}

// Python's str.rstrip().
inline std::string_view without_trailing_whitespace(std::string_view text) {
  while (!text.empty()) {
    const size_t last = previous_code_point(text, text.size());
    if (whitespace_at(text, last) == 0) break;
    text = text.substr(0, last);
  }
  return text;
}

// Python's str.strip().
inline std::string_view without_outer_whitespace(std::string_view text) {
  text = without_trailing_whitespace(text);
  while (!text.empty()) {
    const size_t length = whitespace_at(text, 0);
    if (length == 0) break;
    text.remove_prefix(length);
  }
  return text;
}

// Python's str.split(): calls body(token) for each run of characters that are not white space.
template <class Body>
void for_each_token(std::string_view line, Body&& body) {
  size_t start = 0;
  for (size_t at = 0; at < line.size();) {
    const auto byte = static_cast<unsigned char>(line[at]);
    if (byte > ' ' && byte < 0x80) {
      ++at;
      continue;
    }
    const size_t before = at;
    if (!is_whitespace(next_code_point(line, at))) continue;
    if (before > start) body(line.substr(start, before - start));
    start = at;
  }
  if (start < line.size()) body(line.substr(start));
}

// Python's str.split(): replaces `tokens`, whose views are valid as long as `line`.
inline void split_tokens(std::string_view line, std::vector<std::string_view>& tokens) {
  tokens.clear();
  for_each_token(line, [&](std::string_view token) { tokens.push_back(token); });
}

// Returns the size in bytes of the character at `at` if Python's text streams (codecs.StreamReader,
// through str.splitlines) end a line after it, else 0. REQUIRES: well-formed UTF-8.
inline size_t line_end_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const unsigned lead = byte(at);
  if ((lead >= 0x0A && lead <= 0x0D) || (lead >= 0x1C && lead <= 0x1E)) return 1;
  if (lead == 0xC2 && byte(at + 1) == 0x85) return 2;
  if (lead == 0xE2 && byte(at + 1) == 0x80 && (byte(at + 2) & 0xFE) == 0xA8) return 3;
  return 0;
}

}  // namespace residual::text
