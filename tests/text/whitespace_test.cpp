#include "text/whitespace.h"

#include <gtest/gtest.h>

namespace residual::text {
namespace {

using namespace std::string_view_literals;

TEST(Whitespace, SplitAtUnicodeSpacesAndSeparatorsButNotAtZeroWidth) {
  std::vector<std::string_view> words;
  split_tokens(
      "a\u00a0b\u3000c\x1f"
      "d\u2009e\u2028f\u200bg\u0085\n",
      words);
  EXPECT_EQ(words, (std::vector<std::string_view>{"a", "b", "c", "d", "e", "f\u200bg"}));
  split_tokens("", words);
  EXPECT_TRUE(words.empty());
  split_tokens(" a\0b "sv, words);
  EXPECT_EQ(words, std::vector<std::string_view>{"a\0b"sv});
}

TEST(Whitespace, StripRemovesWholeCharactersOnly) {
  EXPECT_EQ(without_trailing_whitespace("a \r\u00a0\u3000"), "a");
  EXPECT_EQ(without_trailing_whitespace("à"), "à");  // ends with the byte A0
  EXPECT_EQ(without_outer_whitespace("\u2003 a b\t"), "a b");
  EXPECT_EQ(without_trailing_whitespace(" \n"), "");
  EXPECT_EQ(without_outer_whitespace(" \n"), "");
}

}  // namespace
}  // namespace residual::text
