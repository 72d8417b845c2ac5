#include "fetch/plausible.h"

#include <gtest/gtest.h>

namespace residual::fetch {
namespace {

TEST(CountWords, CountsRunsBetweenBlanksAndTwoIdeographsToAWord) {
  EXPECT_EQ(count_words(""), 0);
  EXPECT_EQ(count_words("  two  words "), 2);
  EXPECT_EQ(count_words("漢字四文字"), 2.5);
  EXPECT_EQ(count_words("GNU の漢字"), 2.5);
}

TEST(IsPlausible, TakesSentencesThatCouldBeTranslations) {
  EXPECT_TRUE(is_plausible({"one two three four", "eins zwei drei vier"}));
  EXPECT_TRUE(is_plausible(
      {"This package contains the library.", "このパッケージはライブラリを含みます。"}));
}

TEST(IsPlausible, RefusesShortLongAndUnequalOnes) {
  std::string english, german;
  for (int i = 0; i < 60; ++i) {
    english += "word ";
    german += "wort ";
  }
  EXPECT_TRUE(is_plausible({english, german}));
  EXPECT_FALSE(is_plausible({english + "word", german}));
  EXPECT_FALSE(is_plausible({"one two three", "eins zwei drei vier"}));
  EXPECT_FALSE(is_plausible({"one two three four", german}));
  EXPECT_FALSE(is_plausible({"", ""}));
}

TEST(IsPlausible, RefusesWhatIsNotTranslatedOrNotText) {
  EXPECT_FALSE(is_plausible({"see the file README now", "See the file README now!"}));
  EXPECT_FALSE(is_plausible({"1.2.3 -> 4.5 == 6 !! (7)", "1.2.3 -> 4.5 === 6 !! (8)"}));
  EXPECT_FALSE(is_plausible({"a tab\tin the middle here", "ein Tab in der Mitte"}));
  EXPECT_FALSE(is_plausible({"broken bytes in there \uFFFD", "kaputte Bytes sind hier drin"}));
}

}  // namespace
}  // namespace residual::fetch
