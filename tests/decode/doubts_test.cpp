#include "decode/text/doubts.h"

#include <gtest/gtest.h>

#include <numeric>

namespace residual::decode {
namespace {

std::vector<int32_t> counting(int32_t count) {
  std::vector<int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), 4);
  return ids;
}
std::vector<int32_t> repeated(const std::vector<int32_t>& ids, int times) {
  std::vector<int32_t> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), ids.begin(), ids.end());
  return all;
}

TEST(Doubts, AreRaisedByATranslationMuchShorterThanItsSource) {
  EXPECT_TRUE(doubts_about(counting(11), counting(40)).is_short);
  EXPECT_FALSE(doubts_about(counting(12), counting(40)).is_short);
  EXPECT_FALSE(doubts_about(counting(1), counting(9)).is_short);
  EXPECT_TRUE(doubts_about({}, counting(10)).is_short);
}

TEST(Doubts, AreRaisedByRepetitionsThatTheSourceDoesNotHave) {
  EXPECT_TRUE(doubts_about(repeated({5}, 8), counting(8)).repeats);
  EXPECT_TRUE(doubts_about(repeated({5, 6, 7}, 3), counting(9)).repeats);
  EXPECT_FALSE(doubts_about(repeated({5, 6, 7, 8, 9}, 2), counting(9)).repeats);
  EXPECT_FALSE(doubts_about(repeated({5}, 7), counting(8)).repeats);
  EXPECT_FALSE(doubts_about(repeated({5}, 8), repeated({9}, 8)).repeats);
  EXPECT_FALSE(doubts_about(counting(40), counting(40)).any());
}

TEST(Doubts, AreRaisedByACopyOfTheSourceThatIsLongerThanAName) {
  const std::vector<std::string> source = {"the", "ca@@", "t", "sa@@", "t", "."};
  EXPECT_TRUE(is_copy(source, source));
  EXPECT_FALSE(is_copy(std::span(source).first(5), std::span(source).first(5)));
  EXPECT_FALSE(is_copy(std::span(source).first(5), source));
}

TEST(Doubts, HaveNames) {
  EXPECT_EQ((Doubts{.is_short = true, .repeats = true, .is_copy = true}.names()),
            (std::vector<std::string>{"short", "repeats", "untranslated"}));
}

}  // namespace
}  // namespace residual::decode
