#include "train/ranks/device_slices.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace residual::train {
namespace {

constexpr size_t kBuckets = 64;  // moved at once, which limits the memory for what comes

using Parts = std::vector<DeviceLink::Part>;

// The courier begins the move and asks for its end, while it watches the other ranks.
class Move final : public Courier::Task {
 public:
  Move(DeviceLink& link, Parts sends, Parts receives)
      : link_(link), sends_(std::move(sends)), receives_(std::move(receives)) {}

  bool advance(Ranks& /*ranks*/) override {
    if (!std::exchange(has_begun_, true)) link_.begin(sends_, receives_);
    return link_.done();
  }

 private:
  DeviceLink& link_;
  Parts sends_, receives_;
  bool has_begun_ = false;
};

Tensor part(const Tensor& flat, Slices::Range range) {
  return flat.narrow(0, static_cast<int64_t>(range.begin), static_cast<int64_t>(range.size()));
}

// NCCL has no empty messages.
void add(Parts& parts, int rank, const Tensor& tensor) {
  if (tensor.numel() > 0) parts.push_back({rank, tensor.data_ptr(), tensor.nbytes()});
}

void run(const Peers& peers, DeviceLink& link, Parts sends, Parts receives) {
  Move move(link, std::move(sends), std::move(receives));
  Peers::InBackground(peers, move).wait();
}

}  // namespace

void sum_slices(const Peers& peers, DeviceLink& link, const Slices& slices,
                const Tensor& gradient) {
  const at::NoGradGuard no_grad;
  for (size_t begin = 0; begin < slices.buckets(); begin += kBuckets) {
    const size_t end = std::min(begin + kBuckets, slices.buckets());
    Parts sends, receives;
    std::vector<Tensor> came;  // of each bucket, a row for each rank
    for (size_t b = begin; b < end; ++b) {
      came.push_back(at::empty({peers.size(), static_cast<int64_t>(slices.own(b).size())},
                               gradient.options()));
      for (int rank = 0; rank < peers.size(); ++rank) {
        if (rank == peers.rank()) continue;
        add(sends, rank, part(gradient, slices.slice(b, rank)));
        add(receives, rank, came.back()[rank]);
      }
    }
    run(peers, link, std::move(sends), std::move(receives));
    for (size_t b = begin; b < end; ++b) {
      const Tensor own = part(gradient, slices.own(b)), rows = came[b - begin];
      rows[peers.rank()].copy_(own);
      own.copy_(rows[0]);
      for (int rank = 1; rank < peers.size(); ++rank) own.add_(rows[rank]);
    }
  }
}

void gather_slices(const Peers& peers, DeviceLink& link, const Slices& slices,
                   const Tensor& values) {
  const Tensor all = values.detach();
  Parts sends, receives;
  for (size_t b = 0; b < slices.buckets(); ++b) {
    for (int rank = 0; rank < peers.size(); ++rank) {
      if (rank == peers.rank()) continue;
      add(sends, rank, part(all, slices.own(b)));
      add(receives, rank, part(all, slices.slice(b, rank)));
    }
  }
  run(peers, link, std::move(sends), std::move(receives));
}

}  // namespace residual::train
