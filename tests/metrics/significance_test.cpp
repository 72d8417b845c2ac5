#include "metrics/significance.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/parallel.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/fixture.h"
#include "metrics/ter.h"

namespace residual::metrics {
namespace {

std::vector<Statistics> systems(const Metric& metric) {
  const References references{test::lines_of("score.ref")};
  std::vector<Statistics> all;
  for (const char* name : {"score.hyp-a", "score.hyp-b", "score.hyp-c"}) {
    all.push_back(metric.statistics(test::lines_of(name), references));
  }
  return all;
}

std::vector<Result> tested(PairedTest test, const Metric& metric) {
  const int64_t trials = test == PairedTest::bootstrap ? 1000 : 10000;
  return paired_test(test, metric, systems(metric), trials, kDefaultSeed);
}

void expect_bootstrap(const Result& result, double mean, double half_interval) {
  EXPECT_DOUBLE_EQ(*result.mean, mean);
  EXPECT_DOUBLE_EQ(*result.half_interval, half_interval);
}

// All figures are those of sacreBLEU 2.6.0 (NumPy 2.4.6) on score.ref and score.hyp-{a,b,c}.
TEST(PairedBootstrap, MeansIntervalsAndPValuesAreSacrebleusToTheLastDigit) {
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    const auto bleu = tested(PairedTest::bootstrap, Bleu());
    EXPECT_FALSE(bleu[0].p_value);
    expect_bootstrap(bleu[0], 82.98835615210378, 5.316094357047454);
    expect_bootstrap(bleu[1], 68.34128600137201, 5.902284569602788);
    EXPECT_DOUBLE_EQ(*bleu[1].p_value, 0.002997002997002997);
  }
  const auto chrf = tested(PairedTest::bootstrap, Chrf());
  expect_bootstrap(chrf[0], 87.63679504394531, 4.522235870361328);
  expect_bootstrap(chrf[2], 49.47132873535156, 5.837276458740234);
  EXPECT_DOUBLE_EQ(*chrf[1].p_value, 0.000999000999000999);
  const auto ter = tested(PairedTest::bootstrap, Ter());
  expect_bootstrap(ter[0], 15.321624755859375, 3.8272500038146973);
  expect_bootstrap(ter[1], 25.87662696838379, 3.9270734786987305);
}

TEST(PairedRandomisation, PValuesAreSacrebleus) {
  const auto chrf = tested(PairedTest::randomisation, Chrf());
  EXPECT_FALSE(chrf[0].p_value);
  EXPECT_DOUBLE_EQ(*chrf[1].p_value, 0.0034996500349965005);
  EXPECT_DOUBLE_EQ(*chrf[2].p_value, 9.999000099990002e-05);
  EXPECT_DOUBLE_EQ(*tested(PairedTest::randomisation, Ter())[1].p_value, 9.999000099990002e-05);
}

TEST(PairedRandomisation, ASystemAgainstItselfIsNeverMoreExtreme) {
  const Bleu metric;
  const auto all = systems(metric);
  const auto results =
      paired_test(PairedTest::randomisation, metric, {all[0], all[0]}, 99, kDefaultSeed);
  EXPECT_DOUBLE_EQ(*results[1].p_value, 0.01);
}

TEST(ConfidenceInterval, LeavesOutAFortiethOnEitherSide) {
  std::vector<double> scores;
  for (int i = 79; i >= 0; --i) scores.push_back(i);
  const Interval interval = confidence_interval(scores, false, Averaging::exact);
  EXPECT_DOUBLE_EQ(interval.mean, 39.5);
  EXPECT_DOUBLE_EQ(interval.half_width, 0.5 * (77 - 2));
}

}  // namespace
}  // namespace residual::metrics
