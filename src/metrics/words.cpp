#include "metrics/words.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>

namespace residual::metrics {

size_t space_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) {
    return (lead >= 0x09 && lead <= 0x0D) || (lead >= 0x1C && lead <= 0x20) ? 1 : 0;
  }
  if (lead == 0xC2) return byte(1) == 0x85 || byte(1) == 0xA0 ? 2 : 0;
  bool is_space = false;
  if (lead == 0xE1) is_space = byte(1) == 0x9A && byte(2) == 0x80;  // U+1680
  if (lead == 0xE2 && byte(1) == 0x80) {                            // U+2000-200A, 2028, 2029, 202F
    const unsigned last = byte(2);
    is_space = (last >= 0x80 && last <= 0x8A) || last == 0xA8 || last == 0xA9 || last == 0xAF;
  }
  if (lead == 0xE2 && byte(1) == 0x81) is_space = byte(2) == 0x9F;  // U+205F
  if (lead == 0xE3) is_space = byte(1) == 0x80 && byte(2) == 0x80;  // U+3000
  return is_space ? 3 : 0;
}

std::string_view strip_end(std::string_view text) {
  for (bool found = true; found;) {
    found = false;
    for (size_t length = 1; length <= std::min<size_t>(3, text.size()); ++length) {
      if (space_length(text, text.size() - length) == length) {
        text.remove_suffix(length);
        found = true;
        break;
      }
    }
  }
  return text;
}

std::string_view strip(std::string_view text) {
  while (const size_t length = space_length(text, 0)) text.remove_prefix(length);
  return strip_end(text);
}

void split_words(std::string_view text, std::vector<std::string_view>& words) {
  words.clear();
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t space = space_length(text, at);
    if (space == 0) {
      ++at;
      continue;
    }
    if (at > start) words.push_back(text.substr(start, at - start));
    at += space;
    start = at;
  }
  if (text.size() > start) words.push_back(text.substr(start));
}

std::string lower(std::string_view text) {
  const bool ascii = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<signed char>(c) >= 0; });
  std::string out;
  if (ascii) {
    out = text;
    for (char& c : out) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    }
    return out;
  }
  icu::UnicodeString wide = icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  wide.toLower(icu::Locale::getRoot()).toUTF8String(out);
  return out;
}

}  // namespace residual::metrics
