#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "train/ranks/courier.h"
#include "train/ranks/slices.h"

// What the ranks of a run exchange at every update: gradients towards the owners of their slices,
// parameters back from them.
namespace residual::train {

// Adds the gradients of all workers, in the order of the workers, so that no bit depends on the
// number of ranks. Each rank's own slices of own[0] receive the sums; the rest of own[0] is
// unspecified. A bucket leaves as soon as all of this rank's workers have finished it, while their
// backward pass goes on.
class GradientSum final : public Courier::Task {
 public:
  // How a bucket travels.
  //  - direct: each rank sends its gradient to the owner of each slice. Fastest where every rank
  //    has one worker; with k workers it would send their k gradients, because the order of the
  //    sum forbids adding them first.
  //  - chain: each rank adds its workers to the sum of the ranks before it and passes it on; the
  //    last rank sends each slice to its owner. It sends one gradient whatever k.
  enum class Route { direct, chain };

  // own[w] is the gradient of this rank's worker w. The arguments must outlive the object. Bucket b
  // is final once a worker has reported the progress needed[b].
  GradientSum(const Slices& slices, std::vector<std::span<float>> own,
              const std::vector<int>& needed, int ranks, Route route);

  // May be called from any thread. Progress never decreases.
  void passed(size_t worker, int progress);

  bool advance(Ranks& ranks) override;

 private:
  struct Work {  // on one bucket
    size_t bucket;
    int phase = 0;
    std::vector<float> came = {};
    std::vector<Ranks::Transfer> transfers = {};
  };
  bool is_final(size_t bucket) const;
  bool advance_direct(Ranks& ranks, Work& work);
  bool advance_chain(Ranks& ranks, Work& work);
  void add_slices(const Work& work);
  void add_to_chain(const Work& work);
  void send_slices(Ranks& ranks, Work& work);
  std::span<float> own(Slices::Range range, size_t worker = 0) const {
    return own_[worker].subspan(range.begin, range.size());
  }

  const Slices& slices_;
  const std::vector<std::span<float>> own_;
  const std::vector<int>& needed_;
  const int size_;
  const Route route_;
  std::vector<std::atomic<int>> progress_;  // of each worker
  std::vector<size_t> order_;               // of the buckets
  size_t next_ = 0;
  std::vector<Work> works_;
};

// Completes a flat buffer in every rank, from the slices that the ranks own.
class SliceGather final : public Courier::Task {
 public:
  SliceGather(const Slices& slices, std::span<float> all, int ranks);
  bool advance(Ranks& ranks) override;

 private:
  const Slices& slices_;
  std::span<float> all_;
  int size_;
  size_t next_ = 0;
  std::vector<std::vector<size_t>> ends_;  // of the slices of each bucket, in bytes
  std::vector<Ranks::Transfer> transfers_;
};

// Copies all ranks' slices into a flat buffer of rank 0. `own` has this rank's slices one after
// another; `all` may be empty elsewhere.
class SliceCollect final : public Courier::Task {
 public:
  SliceCollect(const Slices& slices, std::span<const float> own, std::span<float> all, int ranks)
      : slices_(slices), own_(own), all_(all), size_(ranks) {}
  bool advance(Ranks& ranks) override;

 private:
  void begin(Ranks& ranks);

  const Slices& slices_;
  std::span<const float> own_;
  std::span<float> all_;
  int size_;
  bool has_begun_ = false;
  std::vector<Ranks::Transfer> transfers_;
};

// A single gather or spread.
class Collective final : public Courier::Task {
 public:
  using Start = std::function<Ranks::Transfer(Ranks&)>;
  explicit Collective(Start start) : start_(std::move(start)) {}
  bool advance(Ranks& ranks) override {
    if (start_) transfer_ = std::exchange(start_, nullptr)(ranks);
    return ranks.done(transfer_);
  }

 private:
  Start start_;
  Ranks::Transfer transfer_ = 0;
};

}  // namespace residual::train
