#include "train/batch_stream.h"

#include <utility>

#include "base/serial_scope.h"

namespace residual::train {

BatchStream::BatchStream(data::Batcher batcher, int64_t batches_per_update)
    : batcher_(std::move(batcher)), batches_per_update_(batches_per_update) {
  read_ahead();
}

UpdateBatches BatchStream::next() {
  UpdateBatches taken = ahead_.get();
  read_ahead();
  return taken;
}

void BatchStream::read_ahead() {
  ahead_ = std::async(std::launch::async, [this] {
    const SerialScope alone;  // the other threads belong to the running update
    return read();
  });
}

UpdateBatches BatchStream::read() {
  UpdateBatches made;
  const int64_t epoch = batcher_.position().epoch;
  while (static_cast<int64_t>(made.batches.size()) < batches_per_update_ &&
         batcher_.position().epoch == epoch) {
    made.batches.push_back(batcher_.next());
  }
  made.next = batcher_.position();
  made.epoch_done = static_cast<double>(made.next.batch) /
                    static_cast<double>(batcher_.batches_in_epoch(made.next.epoch));
  return made;
}

}  // namespace residual::train
