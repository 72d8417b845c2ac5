#include "metrics/bleu.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace residual::metrics {
namespace {

TEST(Bleu, ATextAgainstItselfScoresOneHundred) {
  const Lines text{"the cat sat on the mat .", "and slept ."};
  EXPECT_NEAR(corpus_bleu(text, {text}).score, 100, 1e-9);
}

TEST(Bleu, MatchesAreClippedToTheLargestCountInOneReference) {
  const Lines hypothesis{"the the the the the the the"};
  const References references{{"the cat is on the mat"}, {"there is a cat on the mat"}};
  const BleuScore score = corpus_bleu(hypothesis, references);
  EXPECT_EQ(score.counts[0], 2);
  EXPECT_EQ(score.totals[0], 7);
}

TEST(Bleu, TheClosestReferenceLengthCountsAndTheShorterOfTwo) {
  const auto length = [](const References& references) {
    return corpus_bleu(Lines{"a b c d"}, references).reference_length;
  };
  EXPECT_EQ(length({{"a b c d e f"}, {"a b c"}}), 3);
  EXPECT_EQ(length({{"a b c d e"}, {"a b c"}}), 3);
}

TEST(Bleu, EmptyHypothesesAndReferencesGiveZeroNotNan) {
  EXPECT_EQ(corpus_bleu(Lines{""}, {{"a b"}}).score, 0);
  EXPECT_EQ(corpus_bleu(Lines{""}, {{""}}).score, 0);
  EXPECT_EQ(corpus_bleu(Lines{"a"}, {{""}}).score, 0);
}

TEST(Bleu, OnlyEffectiveOrdersCountInAShortSentence) {
  EXPECT_NEAR(sentence_bleu("a b", {"a b"}).score, 100, 1e-9);
  EXPECT_EQ(sentence_bleu("a b", {"a b"}, {}).score, 0);  // no trigrams at all
}

TEST(Bleu, ReferencesMustBeParallel) {
  EXPECT_THROW(corpus_bleu(Lines{"a", "b"}, {{"a"}}), Error);
  EXPECT_THROW(corpus_bleu(Lines{"a"}, {}), Error);
  EXPECT_THROW(Bleu({.max_order = 0}), Error);
}

TEST(Bleu, TokenisedLinesAreCounted) {
  EXPECT_EQ(count_tokenized_ends(Lines{"a .", "a . \r", "a.", "."}), 2);
}

TEST(Bleu, ALineOfTenMegabytesIsScored) {
  std::string line;
  while (line.size() < 10'000'000) line += "word. ";
  EXPECT_NEAR(corpus_bleu(Lines{line}, {{line}}).score, 100, 1e-9);
}

}  // namespace
}  // namespace residual::metrics
