#include "train/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace residual::train {
namespace {

using testing::ElementsAre;

// Sentences of the given lengths on both sides; ids count up so that each can be told.
data::Batch batch_of(const std::vector<int>& lengths) {
  data::Batch batch{.source_offsets = {0}, .target_offsets = {0}};
  for (const int length : lengths) {
    for (int i = 0; i < length; ++i) {
      batch.source.push_back(static_cast<int32_t>(batch.source.size()));
      batch.target.push_back(static_cast<int32_t>(batch.target.size()) + 1000);
    }
    batch.source_offsets.push_back(static_cast<int32_t>(batch.source.size()));
    batch.target_offsets.push_back(static_cast<int32_t>(batch.target.size()));
    batch.pairs.push_back(batch.size());
  }
  return batch;
}

TEST(Shards, HoldEverySentenceOnceInOrderAndAreBalanced) {
  const data::Batch batch = batch_of({3, 9, 2, 2, 7, 1, 8, 4});
  const auto parts = shards(batch, 3);
  ASSERT_EQ(parts.size(), 3u);
  std::vector<int64_t> pairs;
  for (const auto& part : parts) {
    EXPECT_TRUE(std::ranges::is_sorted(part.pairs));
    EXPECT_NEAR(static_cast<double>(part.source.size()), 12, 1);  // 36 tokens in all
    for (size_t s = 0; s < part.pairs.size(); ++s) {
      const auto original = static_cast<size_t>(part.pairs[s]);
      EXPECT_EQ(part.source[part.source_offsets[s]], batch.source[batch.source_offsets[original]]);
      EXPECT_EQ(part.target[part.target_offsets[s + 1] - 1],
                batch.target[batch.target_offsets[original + 1] - 1]);
    }
    pairs.insert(pairs.end(), part.pairs.begin(), part.pairs.end());
  }
  std::ranges::sort(pairs);
  EXPECT_EQ(pairs, batch.pairs);
}

TEST(Shards, MayBeEmpty) {
  const auto parts = shards(batch_of({5}), 2);
  EXPECT_EQ(parts[0].size(), 1);
  EXPECT_EQ(parts[1].size(), 0);
  EXPECT_THAT(parts[1].source_offsets, ElementsAre(0));
}

}  // namespace
}  // namespace residual::train
