#include "metrics/numpy_random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace residual::metrics {
namespace {

using testing::ElementsAre;

// All expected numbers are NumPy 2.4.6's.
TEST(NumpyRandom, BitsAreDefaultRngs) {
  NumpyRandom random(12345);
  EXPECT_EQ(random.bits(), 0x3a32b18db2ffc19du);
  EXPECT_EQ(random.bits(), 0x51171315c9e4c4deu);
  EXPECT_EQ(random.bits(), 0xcc2024823444efd9u);
}

TEST(NumpyRandom, ChoicesAreGeneratorChoices) {
  NumpyRandom random(12345);
  std::array<uint32_t, 12> few{};
  random.choose(42, few);
  EXPECT_THAT(few, ElementsAre(29, 9, 33, 13, 8, 33, 26, 28, 41, 16, 35, 13));
}

// A bound near 2^32 rejects often; a seed of more than 32 bits has two words of entropy.
TEST(NumpyRandom, RejectionAndLongSeedsFollowNumpy) {
  NumpyRandom random((uint64_t{1} << 40) + 3);
  std::array<uint32_t, 6> wide{};
  random.choose(3'000'000'000, wide);
  EXPECT_THAT(wide,
              ElementsAre(2320968254, 1334032640, 1141922330, 1419536743, 194552075, 2358795727));
}

TEST(NumpyRandom, OneOutcomeIsAlwaysThatOne) {
  NumpyRandom random(1);
  std::array<uint32_t, 3> none{7, 7, 7};
  random.choose(1, none);
  EXPECT_THAT(none, ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace residual::metrics
