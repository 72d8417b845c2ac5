#include "base/random.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

namespace residual {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Chi-square over 256 cells, 255 degrees of freedom: mean 255, standard deviation 22.6.
// Outside six of them would be a generator worse than chance can explain.
double chi_square(const std::vector<int>& cells, double expected) {
  double sum = 0;
  for (const int n : cells) sum += (n - expected) * (n - expected) / expected;
  return sum;
}

TEST(Random, ValuesAreUniformAlongAStreamAndAcrossStreamsAndSeeds) {
  constexpr int kDraws = 1 << 16;
  std::vector<std::vector<int>> cells(4, std::vector<int>(256));
  for (uint64_t i = 0; i < kDraws; ++i) {
    ++cells[0][static_cast<size_t>(Random(1).uniform(i) * 256)];
    ++cells[1][static_cast<size_t>(Random(1, i).uniform(0) * 256)];
    ++cells[2][static_cast<size_t>(Random(i).uniform(0) * 256)];
    ++cells[3][static_cast<size_t>(Random(1).below(i, 256))];
  }
  for (const auto& row : cells) EXPECT_NEAR(chi_square(row, kDraws / 256.0), 255, 6 * 22.6);
}

TEST(Random, NeighbouringPositionsDifferInHalfTheirBits) {
  double flips = 0;
  constexpr int kPairs = 20000;
  for (uint64_t i = 0; i < kPairs; ++i) {
    flips += std::popcount(Random(3).bits(i) ^ Random(3).bits(i + 1));
  }
  EXPECT_NEAR(flips / kPairs, 32, 6 * 4 / std::sqrt(kPairs));
}

TEST(Random, ConsecutiveValuesAreUncorrelated) {
  double sum = 0;
  constexpr int kPairs = 100000;
  for (uint64_t i = 0; i < kPairs; ++i) {
    sum += (Random(5).uniform(i) - 0.5) * (Random(5).uniform(i + 1) - 0.5);
  }
  EXPECT_NEAR(12 * sum / kPairs, 0, 6 / std::sqrt(kPairs));
}

TEST(Random, ShuffleIsAPermutationThatEveryPlaceReachesEvenly) {
  constexpr int kSize = 8, kRounds = 8192;
  std::vector<int> landed(kSize * kSize);
  for (uint64_t seed = 0; seed < kRounds; ++seed) {
    std::vector<int> values(kSize);
    std::iota(values.begin(), values.end(), 0);
    Random(seed).shuffle<int>(values);
    int seen = 0;
    for (int place = 0; place < kSize; ++place) {
      seen |= 1 << values[static_cast<size_t>(place)];
      ++landed[static_cast<size_t>(place * kSize + values[static_cast<size_t>(place)])];
    }
    ASSERT_EQ(seen, (1 << kSize) - 1);
  }
  // 49 degrees of freedom: standard deviation 9.9.
  EXPECT_NEAR(chi_square(landed, kRounds / double{kSize}), 49, 6 * 9.9);
}

// Standard errors at 100,000 draws: 0.0032 of the mean, 0.0045 of the variance, 0.0015 of the share
// within one standard deviation, which is 0.6827.
TEST(Random, NormalNumbersHaveMeanZeroAndVarianceOne) {
  const Random random(7);
  constexpr int kDraws = 100'000;
  double sum = 0, squares = 0, within = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal(static_cast<uint64_t>(i));
    sum += x;
    squares += x * x;
    within += std::abs(x) < 1 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.015);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
  EXPECT_NEAR(within / kDraws, 0.6827, 0.008);
}

}  // namespace
}  // namespace residual
