#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace residual::text {

constexpr char32_t kReplacement = 0xFFFD;

// The byte order mark. At the start of a file it is not part of the text, although Moses and Python
// read it as text.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
inline std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

// Returns the index of the first byte that is not part of well-formed UTF-8, or npos.
size_t find_invalid_utf8(std::string_view bytes);

// Replaces each maximal ill-formed sequence with U+FFFD (Unicode's recommended practice).
std::string replace_invalid_utf8(std::string_view bytes);

// Returns the code point that starts at `at` and moves `at` past it. REQUIRES: well-formed UTF-8.
inline char32_t next_code_point(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) {
    at += 1;
    return lead;
  }
  if (lead < 0xE0) {
    const char32_t c = (lead & 0x1Fu) << 6 | (byte(at + 1) & 0x3Fu);
    at += 2;
    return c;
  }
  if (lead < 0xF0) {
    const char32_t c = (lead & 0x0Fu) << 12 | (byte(at + 1) & 0x3Fu) << 6 | (byte(at + 2) & 0x3Fu);
    at += 3;
    return c;
  }
  const char32_t c = (lead & 0x07u) << 18 | (byte(at + 1) & 0x3Fu) << 12 |
                     (byte(at + 2) & 0x3Fu) << 6 | (byte(at + 3) & 0x3Fu);
  at += 4;
  return c;
}

inline void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

// REQUIRES: well-formed UTF-8.
std::u32string to_code_points(std::string_view text);
void to_code_points(std::string_view text, std::u32string& out);  // replaces out, keeps its memory
std::string to_utf8(std::u32string_view text);

}  // namespace residual::text
