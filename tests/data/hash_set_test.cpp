#include "data/hash_set.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace residual::data {
namespace {

TEST(HashSet, KnowsWhatWasInsertedAndNothingElse) {
  HashSet set;
  EXPECT_FALSE(set.contains(0));
  const Random random(1);
  for (uint64_t i = 0; i < 100'000; ++i) EXPECT_TRUE(set.insert(random.bits(i)));
  for (uint64_t i = 0; i < 100'000; ++i) EXPECT_FALSE(set.insert(random.bits(i)));
  for (uint64_t i = 100'000; i < 200'000; ++i) EXPECT_FALSE(set.contains(random.bits(i)));
  EXPECT_TRUE(set.insert(0));
  EXPECT_TRUE(set.contains(0));
  EXPECT_EQ(set.size(), 100'001u);
}

}  // namespace
}  // namespace residual::data
