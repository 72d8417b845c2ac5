#pragma once

#include <string>
#include <string_view>

namespace residual::data {

struct LanguagePair {
  std::string source, target;
  std::string name() const { return source + "-" + target; }
};

// Parses "en-de" or "pt_BR-en": two different language codes. Throws an Error for anything else.
LanguagePair parse_pair(std::string_view text);

}  // namespace residual::data
