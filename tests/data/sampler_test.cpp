#include "data/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace residual::data {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

TEST(Quotas, AtTemperatureOneAreTheSizesExactly) {
  std::vector<int64_t> sizes;
  for (int64_t i = 1; i < 200; ++i) sizes.push_back(i * i * i * 17 + i % 7);
  EXPECT_THAT(quotas(sizes, 1), ElementsAreArray(sizes));
}

TEST(Quotas, FollowThePowerLawAndSumToAllPairs) {
  const std::vector<int64_t> sizes{1'000'000, 250'000, 10'000, 77};
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  for (const double t : {0.5, 1.5, 2.0, 5.0, 100.0}) {
    const std::vector<int64_t> quota = quotas(sizes, t);
    double sum = 0;
    for (const int64_t n : sizes) sum += std::pow(static_cast<double>(n), 1 / t);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const double share = std::pow(static_cast<double>(sizes[i]), 1 / t) / sum;
      EXPECT_NEAR(static_cast<double>(quota[i]), share * static_cast<double>(total), 1) << t;
    }
    EXPECT_EQ(std::accumulate(quota.begin(), quota.end(), int64_t{0}), total);
  }
}

TEST(Quotas, AreEqualAtInfiniteTemperatureAndOneSidedAtTheLowest) {
  const std::vector<int64_t> sizes{90, 9, 1};
  EXPECT_THAT(quotas(sizes, std::numeric_limits<double>::infinity()), ElementsAre(34, 33, 33));
  EXPECT_THAT(quotas(sizes, 0.01), ElementsAre(100, 0, 0));
}

TEST(Temperature, MovesLinearlyAndStays) {
  const Temperature t{.start = 1, .end = 5, .annealing_epochs = 5};
  EXPECT_DOUBLE_EQ(t.at(1), 1);
  EXPECT_DOUBLE_EQ(t.at(2), 1.8);
  EXPECT_DOUBLE_EQ(t.at(6), 5);
  EXPECT_DOUBLE_EQ(t.at(1000), 5);
  EXPECT_DOUBLE_EQ((Temperature{.start = 3, .end = 4}).at(1), 4);
}

TEST(Quotas, BeforeAnEpochAreTheSumOfThoseBefore) {
  const std::vector<int64_t> sizes{5000, 300, 20};
  const Temperature t{.start = 1, .end = 5, .annealing_epochs = 3};
  std::vector<int64_t> sum(3);
  for (int64_t e = 1; e < 9; ++e) {
    EXPECT_EQ(quotas_before(sizes, t, e), sum);
    const std::vector<int64_t> quota = quotas(sizes, t.at(e));
    for (size_t i = 0; i < 3; ++i) sum[i] += quota[i];
  }
}

}  // namespace
}  // namespace residual::data
