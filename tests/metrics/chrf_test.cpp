#include "metrics/chrf.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace residual::metrics {
namespace {

TEST(Chrf, IsTheFScoreOfCharacterUnigramsInASmallCase) {
  // 2 of 3 characters match on either side.
  EXPECT_NEAR(corpus_chrf(Lines{"abx"}, {{"aby"}}, {.char_order = 1}), 100 * 2.0 / 3, 1e-12);
}

TEST(Chrf, TheReferenceWithTheBestScoreIsTaken) {
  EXPECT_NEAR(corpus_chrf(Lines{"hello"}, {{"nothing"}, {"hello"}}), 100, 1e-12);
}

TEST(Chrf, OrdersTheReferenceLacksAreLeftOut) {
  EXPECT_NEAR(corpus_chrf(Lines{"ab"}, {{"ab"}}), 100, 1e-12);
  EXPECT_EQ(corpus_chrf(Lines{""}, {{"ab"}}), 0);
  EXPECT_EQ(corpus_chrf(Lines{"ab"}, {{""}}), 0);
}

TEST(Chrf, WhiteSpaceCountsOnlyIfAsked) {
  EXPECT_NEAR(corpus_chrf(Lines{"a b c"}, {{"abc"}}), 100, 1e-12);
  EXPECT_LT(corpus_chrf(Lines{"a b c"}, {{"abc"}}, {.whitespace = true}), 100);
}

TEST(Chrf, ItsNameTellsBetaAndWordOrder) {
  EXPECT_EQ(Chrf().name(), "chrF2");
  EXPECT_EQ(Chrf({.word_order = 2, .beta = 3}).name(), "chrF3++");
}

TEST(Chrf, NeedsAnOrder) { EXPECT_THROW(Chrf({.char_order = 0}), Error); }

}  // namespace
}  // namespace residual::metrics
