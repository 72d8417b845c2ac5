#include "serve/compat/form.h"

#include <algorithm>
#include <charconv>

namespace residual::serve {

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::multimap<std::string, std::string> parse_form(std::string_view text) {
  std::multimap<std::string, std::string> form;
  const auto decoded = [](std::string_view part) {
    std::string spaced(part);
    std::ranges::replace(spaced, '+', ' ');
    return percent_decoded(spaced);
  };
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    form.emplace(decoded(pair.substr(0, equals)),
                 decoded(pair.substr(std::min(equals + 1, pair.size()))));
  }
  return form;
}

}  // namespace residual::serve
