#include "training_kernels/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "support/each_target.h"

namespace residual::kernels {
namespace {

RESIDUAL_ON_EACH_TARGET(DropoutFactors);

constexpr Dropout kDropout{.rate = 0.3, .key = 0x123456789ABCDEF0};

std::vector<float> factors(const Dropout& dropout, int64_t begin, int64_t count) {
  std::vector<float> made(count, -1.0F);
  dropout_factors(dropout, begin, count, made.data());
  return made;
}

// The header's definition, one element at a time.
float defined_factor(const Dropout& dropout, int64_t element) {
  const auto counter = static_cast<uint64_t>(element) / 8;
  const Philox4 bits =
      philox({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0},
             {static_cast<uint32_t>(dropout.key), static_cast<uint32_t>(dropout.key >> 32)});
  const auto place = static_cast<int>(element % 8);
  const uint32_t random = bits[place / 2] >> (16 * (place % 2)) & 0xFFFF;
  return random < dropout.threshold() ? 0 : dropout.kept_scale();
}

// Any begin and any count, so in whatever pieces a tensor is walked. 2^35 elements need the
// counter's high word.
TEST_P(DropoutFactors, AreThoseOfPhiloxForEveryRange) {
  constexpr int64_t kFar = (int64_t{1} << 35) - 20;
  for (const int64_t begin :
       {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{8}, int64_t{63}, int64_t{1001}, kFar}) {
    for (const int64_t count : {0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 129, 1000}) {
      SCOPED_TRACE(testing::Message() << count << " from " << begin);
      std::vector<float> want(count);
      for (int64_t i = 0; i < count; ++i) want[i] = defined_factor(kDropout, begin + i);
      EXPECT_EQ(factors(kDropout, begin, count), want);
    }
  }
}

// 2^20 elements: a deviation of the mean is 0.00064.
TEST_P(DropoutFactors, KeepTheMean) {
  constexpr int64_t kCount = 1 << 20;
  for (const double rate : {0.1, 0.3, 0.5}) {
    const std::vector<float> made = factors({.rate = rate, .key = 7}, 0, kCount);
    const auto dropped = static_cast<double>(std::count(made.begin(), made.end(), 0.0F));
    EXPECT_NEAR(dropped / kCount, rate, 0.003);
    EXPECT_NEAR(std::accumulate(made.begin(), made.end(), 0.0) / kCount, 1, 0.005);
  }
}

TEST_P(DropoutFactors, OfAnotherKeyAreIndependent) {
  constexpr int64_t kCount = 1 << 18;
  const std::vector<float> a = factors({.rate = 0.5, .key = 7}, 0, kCount);
  const std::vector<float> b = factors({.rate = 0.5, .key = 8}, 0, kCount);
  int64_t equal = 0;
  for (int64_t i = 0; i < kCount; ++i) equal += a[i] == b[i] ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(equal) / kCount, 0.5, 0.005);
}

TEST_P(DropoutFactors, AreOneAtRateZeroAndZeroAtRateOne) {
  EXPECT_EQ(factors({.rate = 0}, 3, 100), std::vector<float>(100, 1.0F));
  EXPECT_EQ(factors({.rate = 1}, 3, 100), std::vector<float>(100, 0.0F));
}

}  // namespace
}  // namespace residual::kernels
