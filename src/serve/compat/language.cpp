#include "serve/compat/language.h"

#include <cstdio>  // for the next header

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#include <unicode/locid.h>

#include <algorithm>
#include <functional>

namespace residual::serve {
namespace {

constexpr size_t kEnough = 16 << 10;  // bytes that decide

// The language of a code without script and region, by its present name: "he" for "iw" and "heb".
std::string canonical(const std::string& code) {
  return icu::Locale::createCanonical(code.c_str()).getLanguage();
}

// The first bytes of a text, without a part of a character at the end.
std::string_view beginning(std::string_view text) {
  if (text.size() <= kEnough) return text;
  size_t end = kEnough;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

std::vector<Detection> detect_language(std::string_view text,
                                       std::span<const std::string> languages) {
  std::string hint;  // which languages the text may have
  for (const auto& language : languages) hint += (hint.empty() ? "" : ",") + canonical(language);
  const CLD2::CLDHints hints = {hint.c_str(), nullptr, CLD2::UNKNOWN_ENCODING,
                                CLD2::UNKNOWN_LANGUAGE};
  CLD2::Language found[3];
  int percent[3], bytes = 0, valid = 0;
  double scores[3];
  bool is_reliable = false;
  text = beginning(text);
  CLD2::ExtDetectLanguageSummaryCheckUTF8(text.data(), static_cast<int>(text.size()), true, &hints,
                                          0, found, percent, scores, nullptr, &bytes, &is_reliable,
                                          &valid);
  std::vector<Detection> detections;
  for (const auto& language : languages) {
    detections.push_back({language, 0});
    for (int i = 0; i < 3; ++i) {
      if (canonical(CLD2::LanguageCode(found[i])) == canonical(language)) {
        detections.back().confidence += percent[i];
      }
    }
  }
  std::ranges::stable_sort(detections, std::greater(), &Detection::confidence);
  return detections;
}

std::string language_name(const std::string& code) {
  if (code.empty()) return code;
  icu::UnicodeString name;
  icu::Locale(code.c_str()).getDisplayName(icu::Locale::getEnglish(), name);
  std::string text;
  name.toUTF8String(text);
  return text.empty() ? code : text;
}

}  // namespace residual::serve
