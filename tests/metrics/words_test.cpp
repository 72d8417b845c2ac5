#include "metrics/words.h"

#include <gtest/gtest.h>

namespace residual::metrics {
namespace {

using namespace std::string_view_literals;

TEST(Words, SplitAtUnicodeSpacesAndSeparatorsButNotAtZeroWidth) {
  std::vector<std::string_view> words;
  split_words(
      "a\u00a0b\u3000c\x1f"
      "d\u2009e\u2028f\u200bg\u0085\n",
      words);
  EXPECT_EQ(words, (std::vector<std::string_view>{"a", "b", "c", "d", "e", "f\u200bg"}));
  split_words("", words);
  EXPECT_TRUE(words.empty());
  split_words(" a\0b "sv, words);
  EXPECT_EQ(words, std::vector<std::string_view>{"a\0b"sv});
}

TEST(Words, StripRemovesWholeCharactersOnly) {
  EXPECT_EQ(strip_end("a \r\u00a0\u3000"), "a");
  EXPECT_EQ(strip_end("à"), "à");  // ends with the byte A0
  EXPECT_EQ(strip("\u2003 a b\t"), "a b");
  EXPECT_EQ(strip_end(" \n"), "");
}

TEST(Words, LowerKnowsFinalSigmaAndDottedI) {
  EXPECT_EQ(lower("ABC Ä"), "abc ä");
  EXPECT_EQ(lower("ΟΔΟΣ ΣΑΣ"), "οδος σας");
  EXPECT_EQ(lower("İ"), "i\u0307");
}

}  // namespace
}  // namespace residual::metrics
