#include "metrics/multi_bleu.h"

#include <gtest/gtest.h>

#include "metrics/fixture.h"

namespace residual::metrics {
namespace {

std::string line(const MultiBleu& metric, const Lines& hypotheses, const References& references) {
  return metric.line(metric.statistics(hypotheses, references).sum());
}

// Made by Moses' multi-bleu.perl on the same files.
TEST(MultiBleu, PrintsTheScriptsLine) {
  const References references{test::lines_of("score.ref")};
  EXPECT_EQ(line(MultiBleu(), test::lines_of("score.hyp-a"), references),
            "BLEU = 71.18, 91.8/82.4/67.8/54.5 (BP=0.979, ratio=0.979, hyp_len=280, ref_len=286)");
  EXPECT_EQ(line(MultiBleu({.lowercase = true}), test::lines_of("score.hyp-b"), references),
            "BLEU = 57.47, 83.3/66.9/50.2/39.0 (BP=1.000, ratio=1.003, hyp_len=287, ref_len=286)");
}

TEST(MultiBleu, OnlyAsciiWhiteSpaceEndsAWord) {
  const MultiBleu metric;
  EXPECT_EQ(metric
                .statistics(Lines{"a\xc2\xa0"
                                  "b\t c\r \xc2\xa0"},
                            {{"a"}})
                .sum()[0],
            3);
}

TEST(MultiBleu, AnUnknownReferenceWordMatchesNothingIfAsked) {
  const Lines hypothesis{"<unk> a b c d"};
  EXPECT_EQ(MultiBleu().statistics(hypothesis, {hypothesis}).sum()[2], 5);
  EXPECT_EQ(MultiBleu({.unk_never_matches = true}).statistics(hypothesis, {hypothesis}).sum()[2],
            4);
}

TEST(MultiBleu, ItsSignatureNamesTheScriptNotSacrebleu) {
  EXPECT_EQ(MultiBleu({.lowercase = true}).signature(2).text(),
            "nrefs:2|case:lc|tok:none|smooth:none|unk:word|as:multi-bleu.perl");
}

TEST(MultiBleu, NothingToCompareIsZero) {
  EXPECT_EQ(line(MultiBleu(), {"a"}, {{""}}),
            "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)");
}

}  // namespace
}  // namespace residual::metrics
