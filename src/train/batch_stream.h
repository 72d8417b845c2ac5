#pragma once

#include <cstdint>
#include <future>
#include <vector>

#include "data/batcher.h"

namespace residual::train {

// What one update takes: up to so many batches of one epoch, the last update of an epoch fewer.
struct UpdateBatches {
  std::vector<data::Batch> batches;
  data::BatchPosition next;  // of the batch after them
  double epoch_done = 0;     // share of next.epoch's batches that come before it
};

// The batches of update after update. Another thread reads them, and shuffles a new epoch, one
// update ahead, in the order of Batcher::next(): the stream is the same as without it.
class BatchStream {
 public:
  // Begins at the batcher's position.
  BatchStream(data::Batcher batcher, int64_t batches_per_update);
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  UpdateBatches next();

 private:
  UpdateBatches read();
  void read_ahead();

  data::Batcher batcher_;  // the other thread's, while `ahead_` is under way
  int64_t batches_per_update_;
  std::future<UpdateBatches> ahead_;
};

}  // namespace residual::train
