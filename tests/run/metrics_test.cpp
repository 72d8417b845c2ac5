#include "run/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace residual::run {
namespace {

TEST(Averages, AreInBits) {
  const Averages mean = averages({.tokens = 4, .loss = 8 * std::log(2), .nll = 4 * std::log(2)});
  EXPECT_DOUBLE_EQ(mean.loss, 2);
  EXPECT_DOUBLE_EQ(mean.nll, 1);
  EXPECT_DOUBLE_EQ(mean.perplexity, 2);
}

}  // namespace
}  // namespace residual::run
