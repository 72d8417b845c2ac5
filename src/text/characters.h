#pragma once

#include <array>
#include <cstdint>

namespace residual::text {

// Character classes of the text tools, as bits.
enum CharacterClass : uint8_t {
  kAlphabetic = 1,        // the Alphabetic property: letters, letter-like numbers and marks
  kNumber = 2,            // general category N
  kAlphanumeric = 4,      // Alphabetic, or a decimal digit
  kLowercase = 8,         // the Lowercase property
  kLowercaseLetter = 16,  // general category Ll
  kSpace = 32,            // the White_Space property
  kOther = 64,            // general category C: controls, formats, private use, unassigned
  kCurrency = 128,        // general category Sc
};

// The classes of every code point in Unicode 14, the version of Perl 5.36 with which the Moses
// scripts are compared. Characters of later versions are unassigned, even if ICU knows them.
class CharacterClasses {
 public:
  static const CharacterClasses& unicode14();

  uint8_t operator[](char32_t c) const { return c < kTabled ? table_[c] : classify(c); }

 private:
  static constexpr char32_t kTabled = 0x10000;

  CharacterClasses();
  static uint8_t classify(char32_t c);

  std::array<uint8_t, kTabled> table_;
};

// Returns whether `c` is a letter, digit or mark of a script that puts spaces between words.
bool is_spaced_letter(char32_t c);

// Returns the single-character lower-case form in Unicode 14. Only U+0130 has a lower-case form of
// two characters.
char32_t lower(char32_t c);

}  // namespace residual::text
