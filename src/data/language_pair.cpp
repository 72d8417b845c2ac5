#include "data/language_pair.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace residual::data {
namespace {

constexpr size_t kLongestCode = 31;  // that a corpus file has room for

bool is_language(std::string_view code) {
  const auto letters = [](std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c); });
  };
  const size_t region = std::min(code.find_first_of("_@"), code.size());
  return code.size() <= kLongestCode && region >= 2 && region <= 3 &&
         letters(code.substr(0, region)) &&
         (region == code.size() || (region + 1 < code.size() && letters(code.substr(region + 1))));
}

}  // namespace

LanguagePair parse_pair(std::string_view text) {
  const size_t dash = std::min(text.find('-'), text.size());
  LanguagePair pair{.source = std::string(text.substr(0, dash)),
                    .target = std::string(text.substr(std::min(dash + 1, text.size())))};
  require(is_language(pair.source) && is_language(pair.target) && pair.source != pair.target,
          "\"{}\" is not a pair of languages; write it like en-de or pt_BR-en", text);
  return pair;
}

}  // namespace residual::data
