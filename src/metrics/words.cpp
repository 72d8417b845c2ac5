#include "metrics/words.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "base/error.h"

namespace residual::metrics {

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
  require(text.size() < INT32_MAX, "cannot lower-case a line of {} bytes; the limit is 2 GiB",
          text.size());
  icu::UnicodeString wide = icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  wide.toLower(icu::Locale::getRoot()).toUTF8String(out);
  return out;
}

}  // namespace residual::metrics
