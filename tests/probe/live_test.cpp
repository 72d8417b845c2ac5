#include "probe/live.h"

#include <gtest/gtest.h>

#include <vector>

namespace residual::probe {
namespace {

TEST(Live, GradientsVanishWhenTheLowestThirdIsAThousandthOfTheHighest) {
  EXPECT_FALSE(vanishes({.gradients = {1, 1, 1, 1, 1, 1}}));
  EXPECT_FALSE(vanishes({.gradients = {2e-3, 2e-3, 1, 1, 1, 1}}));
  EXPECT_TRUE(vanishes({.gradients = {5e-4, 5e-4, 1, 1, 1, 1}}));
  EXPECT_FALSE(vanishes({.gradients = {1, 1, 1, 1, 1e-9, 1e-9}}));  // the other way round
}

TEST(Live, RepresentationsCollapseWhenTheHighestThirdHardlyMoves) {
  EXPECT_FALSE(collapses({.changes = {0.6, 0.5, 0.1, 0.1, 0.1, 0.1}}));
  EXPECT_TRUE(collapses({.changes = {0.6, 0.5, 0.1, 0.1, 0.04, 0.04}}));
  EXPECT_FALSE(collapses({.changes = {0.01, 0.01, 0.1, 0.1, 0.5, 0.5}}));
  EXPECT_FALSE(collapses({.changes = {}}));  // one block has no neighbour
}

}  // namespace
}  // namespace residual::probe
