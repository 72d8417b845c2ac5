#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace residual::serve {

struct Detection {
  std::string language;
  double confidence;  // percent of the text; 0: no sign of the language
};

// How much of a text seems to be in each of `languages`, the best first. The text must be UTF-8.
std::vector<Detection> detect_language(std::string_view text,
                                       std::span<const std::string> languages);

// The English name of a language: "German" for "de". An unknown code is its own name.
std::string language_name(const std::string& code);

}  // namespace residual::serve
