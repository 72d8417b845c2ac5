#include "text/unicode.h"

#include <unicode/utf8.h>

#include <cstring>

namespace residual::text {
namespace {

// The code point at `at`, which moves past it, or a negative number past an ill-formed piece.
UChar32 decode(std::string_view bytes, size_t& at) {
  UChar32 c = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"  // inside ICU's macro
  U8_NEXT(bytes, at, bytes.size(), c);
#pragma GCC diagnostic pop
  return c;
}

}  // namespace

size_t find_invalid_utf8(std::string_view bytes) {
  const char* data = bytes.data();
  const size_t size = bytes.size();
  for (size_t at = 0; at < size;) {
    uint64_t eight = 0;
    if (at + 8 <= size) {
      std::memcpy(&eight, data + at, 8);
      if ((eight & 0x8080808080808080u) == 0) {
        at += 8;
        continue;
      }
    }
    const size_t start = at;
    if (decode(bytes, at) < 0) return start;
  }
  return std::string_view::npos;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    const size_t start = at;
    if (decode(bytes, at) < 0) {
      append_utf8(out, kReplacement);
    } else {
      out += bytes.substr(start, at - start);
    }
  }
  return out;
}

void to_code_points(std::string_view text, std::u32string& out) {
  out.clear();
  for (size_t at = 0; at < text.size();) out += next_code_point(text, at);
}

std::u32string to_code_points(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  to_code_points(text, out);
  return out;
}

std::string to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

}  // namespace residual::text
