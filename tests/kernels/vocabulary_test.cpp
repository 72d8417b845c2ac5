#include "kernels/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/each_target.h"

namespace residual::kernels {
namespace {

RESIDUAL_ON_EACH_TARGET(Vocabulary);

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kCounts[] = {1, 7, 8, 9, 15, 16, 17, 31, 33, 64, 255, 256, 257, 511, 512, 513, 10007};

std::vector<float> logits(int64_t count, uint64_t seed) {
  std::vector<float> x = random_floats(count, seed);
  for (float& v : x) v *= 10;
  return x;
}

double exact_log_sum_exp(const std::vector<float>& x) {
  const double most = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const float v : x) sum += std::exp(v - most);
  return most + std::log(sum);
}

TEST_P(Vocabulary, MixIsTheLogarithmOfTheMeanProbability) {
  for (const int count : kSizes) {
    std::vector<float> x = random_floats(count, 1), y = random_floats(count, 2);
    for (int i = 0; i < count; ++i) {
      x[i] = 60 * x[i] - 60;  // down to -120, where e^x is zero in float32
      y[i] = 60 * y[i] - 60;
    }
    std::vector<double> want(count);
    for (int i = 0; i < count; ++i)
      want[i] = std::log(0.75 * std::exp(double{y[i]}) + 0.25 * std::exp(double{x[i]}));
    mix(0.25F, x.data(), count, y.data());
    expect_close(y, want, 2e-5);
  }
}

TEST_P(Vocabulary, LogSumExpAgreesWithTheDefinition) {
  for (const int count : kCounts) {
    std::vector<float> x = logits(count, 1);
    EXPECT_NEAR(log_sum_exp(x.data(), count), exact_log_sum_exp(x), 1e-6 * 11) << count;
    std::sort(x.begin(), x.end());  // the maximum changes in every block
    EXPECT_NEAR(log_sum_exp(x.data(), count), exact_log_sum_exp(x), 1e-6 * 11) << count;
  }
}

TEST_P(Vocabulary, LogSumExpTakesExtremes) {
  std::vector<float> x(1000, -kInfinity);
  EXPECT_EQ(log_sum_exp(x.data(), 1000), -kInfinity);
  x[700] = 3;
  EXPECT_FLOAT_EQ(log_sum_exp(x.data(), 1000), 3);
  x[10] = 1e30F;
  EXPECT_FLOAT_EQ(log_sum_exp(x.data(), 1000), 1e30F);
  for (const int place : {0, 600, 999}) {
    std::vector<float> bad = x;
    bad[place] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(log_sum_exp(bad.data(), 1000))) << place;
  }
}

TEST_P(Vocabulary, LogSoftmaxSumsToOne) {
  for (const int count : kCounts) {
    const std::vector<float> x = logits(2 * count, 2);
    std::vector<float> y(x.size());
    log_softmax(x.data(), 2, count, y.data());
    for (int row = 0; row < 2; ++row) {
      double sum = 0;
      for (int i = 0; i < count; ++i) sum += std::exp(double{y[row * count + i]});
      EXPECT_NEAR(sum, 1, 3e-6);
    }
    EXPECT_NEAR(y[count - 1] - y[0], x[count - 1] - x[0], 1e-5);
  }
}

TEST_P(Vocabulary, BestOfARowAreThoseOfAStableSort) {
  for (const int count : kCounts) {
    for (const bool ties : {false, true}) {
      std::vector<float> x = logits(count, 3);
      if (ties) {
        for (float& v : x) v = std::round(v);
      }
      std::vector<int32_t> order(count);
      for (int i = 0; i < count; ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return x[a] > x[b]; });
      for (const int k : {1, 2, 10, 128}) {
        std::vector<Scored> best(k);
        const float sum = best_of_row(x.data(), count, k, best.data());
        EXPECT_EQ(sum, log_sum_exp(x.data(), count));
        for (int i = 0; i < std::min(k, count); ++i) {
          ASSERT_EQ(best[i].index, order[i]) << count << " elements, k " << k;
          ASSERT_EQ(best[i].value, x[order[i]]);
        }
      }
    }
  }
}

TEST_P(Vocabulary, ARowInPartsIsTheWholeRow) {
  constexpr int64_t kCount = 10007;
  const std::vector<float> x = logits(kCount, 4);
  std::vector<Scored> want(12), best(12);
  const float sum = best_of_row(x.data(), kCount, 12, want.data());
  for (const int64_t parts : {1, 3, 19}) {
    for (const int32_t asked : {0, 511, 512, 10006}) {
      RowSummary row = {.k = 12, .best = best.data(), .asked = {.index = asked}};
      for (int64_t at = 0; at < kCount; at += parts * RowSummary::kPart) {
        row.add(x.data() + at, std::min(parts * RowSummary::kPart, kCount - at));
      }
      EXPECT_EQ(row.log_sum_exp(), sum);
      EXPECT_EQ(row.asked.value, x[asked]);
      ASSERT_EQ(row.found, 12);
      for (int i = 0; i < 12; ++i) EXPECT_EQ(best[i].index, want[i].index);
    }
  }
}

TEST_P(Vocabulary, BestOfARowOfMinusInfinityAreTheFirst) {
  const std::vector<float> x(100, -kInfinity);
  std::vector<Scored> best(3);
  best_of_row(x.data(), 100, 3, best.data());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(best[i].index, i);
}

}  // namespace
}  // namespace residual::kernels
