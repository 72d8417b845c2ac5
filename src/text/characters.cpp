#include "text/characters.h"

#include <unicode/uchar.h>

#include <utility>

namespace residual::text {
namespace {

bool in_unicode14(UChar32 c) {
  UVersionInfo age;
  u_charAge(c, age);
  return age[0] > 0 && age[0] <= 14;
}

// Characters of Unicode 14 that became Alphabetic or Lowercase in Unicode 15.
bool alphabetic_since_15(UChar32 c) {
  return c == 0x0C04 || c == 0x0F82 || c == 0x0F83 || c == 0x11080 || c == 0x11081;
}
bool lowercase_since_15(UChar32 c) {
  return c == 0x10FC || (c >= 0xA7F2 && c <= 0xA7F4) || c == 0xAB69;
}

}  // namespace

const CharacterClasses& CharacterClasses::unicode14() {
  static const CharacterClasses classes;
  return classes;
}

CharacterClasses::CharacterClasses() {
  for (char32_t c = 0; c < kTabled; ++c) table_[c] = classify(c);
}

uint8_t CharacterClasses::classify(char32_t character) {
  const auto c = static_cast<UChar32>(character);
  if (!in_unicode14(c)) return kOther;
  const uint32_t category = U_GET_GC_MASK(c);
  const bool alphabetic = u_hasBinaryProperty(c, UCHAR_ALPHABETIC) && !alphabetic_since_15(c);
  uint8_t bits = 0;
  const auto set = [&bits](CharacterClass bit, bool holds) {
    if (holds) bits = static_cast<uint8_t>(bits | bit);
  };
  set(kAlphabetic, alphabetic);
  set(kNumber, (category & U_GC_N_MASK) != 0);
  set(kAlphanumeric, alphabetic || (category & U_GC_ND_MASK) != 0);
  set(kLowercase, u_hasBinaryProperty(c, UCHAR_LOWERCASE) && !lowercase_since_15(c));
  set(kLowercaseLetter, (category & U_GC_LL_MASK) != 0);
  set(kSpace, u_hasBinaryProperty(c, UCHAR_WHITE_SPACE));
  set(kOther, (category & U_GC_C_MASK) != 0);
  set(kCurrency, (category & U_GC_SC_MASK) != 0);
  return bits;
}

bool is_spaced_letter(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kUnspaced[] = {
      {0x0E00, 0x0EFF},   {0x1000, 0x109F},  {0x1780, 0x17FF},  // Thai, Lao, Burmese, Khmer
      {0x2E80, 0x9FFF},   {0xF900, 0xFAFF},  {0xFF66, 0xFF9D},  // Chinese, Japanese
      {0x1B000, 0x1B16F}, {0x20000, 0x3FFFF}};
  for (const auto& [first, last] : kUnspaced) {
    if (c >= first && c <= last) return false;
  }
  return (CharacterClasses::unicode14()[c] & (kAlphanumeric | kNumber)) != 0 ||
         (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_M_MASK) != 0;
}

char32_t lower(char32_t character) {
  const auto c = static_cast<UChar32>(character);
  return in_unicode14(c) ? static_cast<char32_t>(u_tolower(c)) : character;
}

}  // namespace residual::text
