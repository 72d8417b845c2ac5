#include "text/characters.h"

#include <gtest/gtest.h>

namespace residual::text {
namespace {

template <class Predicate>
int count(Predicate&& holds) {
  int n = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c < 0xD800 || c > 0xDFFF) n += holds(c) ? 1 : 0;
  }
  return n;
}

// How many code points perl 5.36 puts into each class; it knows Unicode 14.
TEST(CharacterClasses, HaveAsManyMembersAsInPerl) {
  const auto& classes = CharacterClasses::unicode14();
  const auto members = [&](CharacterClass bit) {
    return count([&](char32_t c) { return (classes[c] & bit) != 0; });
  };
  EXPECT_EQ(members(kAlphabetic), 133396);
  EXPECT_EQ(members(kNumber), 1791);
  EXPECT_EQ(members(kAlphanumeric), 134056);
  EXPECT_EQ(members(kLowercase), 2471);
  EXPECT_EQ(members(kLowercaseLetter), 2227);
  EXPECT_EQ(members(kSpace), 25);
  EXPECT_EQ(members(kOther), 967530);
  EXPECT_EQ(members(kCurrency), 63);
  EXPECT_EQ(count([](char32_t c) { return lower(c) != c; }), 1433);
}

TEST(CharacterClasses, KnowNothingNewerThanUnicode14) {
  const auto& classes = CharacterClasses::unicode14();
  EXPECT_EQ(classes[0x1FAE8], kOther);  // a face of Unicode 15
  EXPECT_EQ(classes[0x31350], kOther);  // an ideograph of Unicode 15
  EXPECT_EQ(classes[0x0C04], 0);        // Alphabetic only since Unicode 15
  EXPECT_EQ(classes[0x10FC] & kLowercase, 0);
}

}  // namespace
}  // namespace residual::text
