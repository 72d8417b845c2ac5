#include "train/batch_stream.h"

#include <gtest/gtest.h>

#include "run/corpora.h"
#include "support/tiny_run.h"

namespace residual::train {
namespace {

TEST(BatchStream, IsTheBatchersOwnCutAtTheEndOfAnEpoch) {
  const test::ReverseTask task;
  run::TrainConfig config = task.config();
  const run::Corpora corpora(config);
  data::Batcher batcher = corpora.batcher(config);
  const data::BatchPosition start{.epoch = 1, .batch = batcher.batches_in_epoch(1) - 3};
  batcher.seek(start);
  data::Batcher same = corpora.batcher(config);
  same.seek(start);
  BatchStream stream(std::move(same), /*batches_per_update=*/2);
  for (const size_t wanted : {2, 1, 2}) {
    const UpdateBatches taken = stream.next();
    ASSERT_EQ(taken.batches.size(), wanted);
    for (const auto& batch : taken.batches) {
      const data::Batch expected = batcher.next();
      EXPECT_EQ(batch.pairs, expected.pairs);
      EXPECT_EQ(batch.target, expected.target);
    }
    EXPECT_EQ(taken.next, batcher.position());
    EXPECT_NEAR(taken.epoch_done,
                static_cast<double>(taken.next.batch) /
                    static_cast<double>(batcher.batches_in_epoch(taken.next.epoch)),
                1e-12);
  }
}

}  // namespace
}  // namespace residual::train
