#pragma once

#include <array>
#include <cstdint>

namespace residual::text {

// What the text tools ask of a character: bits of a class.
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

// The classes of every code point in Unicode 14, the version of Perl 5.36 on which the Moses
// scripts are compared: a character that came later is unassigned, whatever ICU knows of it.
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

// A letter, digit or mark of a script that puts spaces between its words.
bool is_spaced_letter(char32_t c);

// The lower-case form of one character in Unicode 14, where it is one character. The only one
// whose lower case is two is U+0130.
char32_t lower(char32_t c);

}  // namespace residual::text
