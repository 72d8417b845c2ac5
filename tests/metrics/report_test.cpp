#include "metrics/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace residual::metrics {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

ScoreReport bleu(double score) {
  return {"BLEU", score, "1.0/2.0 (BP = 1.000)", Signature({{"nrefs", "#", "1"}})};
}

TEST(Report, LinesOfSeveralMetricsMeetAtTheEqualsSign) {
  const ScoreReport ter{"TER", 7, "", Signature({{"nrefs", "#", "1"}, {"case", "c", "lc"}})};
  EXPECT_EQ(format_scores({bleu(83.46), ter}, {}),
            "       BLEU|nrefs:1 = 83.5 1.0/2.0 (BP = 1.000)\n"
            "TER|nrefs:1|case:lc = 7.0\n");
}

TEST(Report, AScoreAloneHasNeitherNameNorDetails) {
  EXPECT_EQ(format_scores({bleu(83.4567)}, {.width = 3, .score_only = true}), "83.457\n");
}

TEST(Report, JsonCarriesTheSignaturesFields) {
  ScoreReport report = bleu(83.4567);
  report.confidence = Interval{83.01, 2.345};
  EXPECT_EQ(format_score(report, {.width = 2, .json = true}, true),
            "{\n \"name\": \"BLEU\",\n \"score\": 83.46,\n \"signature\": \"nrefs:1\",\n"
            " \"confidence_mean\": 83.01,\n \"confidence_var\": 2.35,\n"
            " \"confidence\": \"μ = 83.01 ± 2.35\",\n"
            " \"verbose_score\": \"1.0/2.0 (BP = 1.000)\",\n \"nrefs\": \"1\"\n}");
}

// The grid is the one sacreBLEU prints on these figures.
TEST(Report, SystemsStandInAGrid) {
  const Column column{"BLEU",
                      Signature({{"nrefs", "#", "1"}}),
                      {{.score = 83.5, .mean = 83.0, .half_interval = 5.3},
                       {.score = 68.5, .p_value = 0.003, .mean = 68.3, .half_interval = 5.9}}};
  const std::string text = format_systems({"Baseline: score.hyp-a", "score.hyp-b"}, {column}, {});
  EXPECT_THAT(text, StartsWith("╒═══════════════════════╤═════════════════════╕\n"
                               "│                System │  BLEU (μ ± 95% CI)  │\n"
                               "╞═══════════════════════╪═════════════════════╡\n"
                               "│ Baseline: score.hyp-a │  83.5 (83.0 ± 5.3)  │\n"
                               "├───────────────────────┼─────────────────────┤\n"
                               "│           score.hyp-b │  68.5 (68.3 ± 5.9)  │\n"
                               "│                       │    (p = 0.0030)*    │\n"
                               "╘═══════════════════════╧═════════════════════╛\n"));
  EXPECT_THAT(text, HasSubstr(" - BLEU       nrefs:1\n"));
}

}  // namespace
}  // namespace residual::metrics
