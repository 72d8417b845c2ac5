#pragma once

#include <cstdint>
#include <future>
#include <vector>

#include "data/batcher.h"

namespace residual::train {

// The batches of one update: batch.update_frequency batches of one epoch, or fewer in the last
// update of an epoch.
struct UpdateBatches {
  std::vector<data::Batch> batches;
  data::BatchPosition next;  // position of the following batch
  double epoch_done = 0;     // share of next.epoch's batches before `next`
};

// Delivers the batches of one update after another. A second thread reads them, and shuffles a new
// epoch, one update ahead, in the order of Batcher::next(), so the stream does not depend on it.
class BatchStream {
 public:
  // Starts at the batcher's position.
  BatchStream(data::Batcher batcher, int64_t batches_per_update);
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  UpdateBatches next();

 private:
  UpdateBatches read();
  void read_ahead();

  data::Batcher batcher_;  // belongs to the second thread while `ahead_` is running
  int64_t batches_per_update_;
  std::future<UpdateBatches> ahead_;
};

}  // namespace residual::train
