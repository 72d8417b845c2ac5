#include "metrics/words.h"

#include <gtest/gtest.h>

namespace residual::metrics {
namespace {

TEST(Words, LowerKnowsFinalSigmaAndDottedI) {
  EXPECT_EQ(lower("ABC Ä"), "abc ä");
  EXPECT_EQ(lower("ΟΔΟΣ ΣΑΣ"), "οδος σας");
  EXPECT_EQ(lower("İ"), "i\u0307");
}

}  // namespace
}  // namespace residual::metrics
