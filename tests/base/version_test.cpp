#include "base/version.h"

#include <gtest/gtest.h>

namespace residual {
namespace {

TEST(Version, IsKnown) {
  EXPECT_FALSE(version().empty());
  EXPECT_FALSE(commit().empty());
  EXPECT_FALSE(cpu_features().empty());
}

}  // namespace
}  // namespace residual
