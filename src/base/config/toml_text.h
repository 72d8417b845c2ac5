#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

// Pieces of TOML text and of messages about it.
namespace residual {

inline std::string dotted(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

inline std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

inline std::string joined(std::span<const std::string> items, std::string_view separator) {
  return fmt::format("{}", fmt::join(items.begin(), items.end(), separator));
}

}  // namespace residual
