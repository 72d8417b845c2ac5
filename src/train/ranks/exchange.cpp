#include "train/ranks/exchange.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace residual::train {
namespace {

constexpr size_t kWindow = 32;    // buckets under way
constexpr size_t kSending = 8;    // of them, passed on in the chain at once: messages to one rank
                                  // share the network, and the first would arrive with the last
constexpr int kFirstChannel = 1;  // Pulse has channel 0
constexpr size_t kBlock = 4096;   // floats that are added at once: 16 KB stay in the cache

int channel_of(size_t bucket) { return kFirstChannel + static_cast<int>(bucket); }

// Removes the transfers that are done. Returns whether none is left.
bool all_done(Ranks& ranks, std::vector<Ranks::Transfer>& transfers) {
  std::erase_if(transfers, [&](Ranks::Transfer t) { return ranks.done(t); });
  return transfers.empty();
}

// to[i] = sources[0][i] + sources[1][i] + ..., from left to right. `to` may be one of the sources.
void add_in_order(std::span<const float* const> sources, std::span<float> to) {
  std::array<float, kBlock> sum;
  for (size_t begin = 0; begin < to.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, to.size() - begin);
    std::copy_n(sources[0] + begin, size, sum.data());
    for (const float* source : sources.subspan(1)) {
      for (size_t i = 0; i < size; ++i) sum[i] += source[begin + i];
    }
    std::copy_n(sum.data(), size, to.data() + begin);
  }
}

}  // namespace

GradientSum::GradientSum(const Slices& slices, std::vector<std::span<float>> own,
                         const std::vector<int>& needed, int ranks, Route route)
    : slices_(slices),
      own_(std::move(own)),
      needed_(needed),
      size_(ranks),
      route_(route),
      progress_(own_.size()),
      order_(slices.buckets()) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::ranges::stable_sort(order_, {}, [&](size_t bucket) { return needed_[bucket]; });
}

void GradientSum::passed(size_t worker, int progress) {
  if (progress > progress_[worker].load(std::memory_order_relaxed)) {
    progress_[worker].store(progress, std::memory_order_release);
  }
}

bool GradientSum::is_final(size_t bucket) const {
  return std::ranges::all_of(progress_, [&](const std::atomic<int>& progress) {
    return progress.load(std::memory_order_acquire) >= needed_[bucket];
  });
}

bool GradientSum::advance(Ranks& ranks) {
  while (next_ < order_.size() && works_.size() < kWindow) {
    works_.push_back({.bucket = order_[next_++]});
  }
  std::vector<bool> is_done;
  for (Work& work : works_) {
    is_done.push_back(route_ == Route::direct ? advance_direct(ranks, work)
                                              : advance_chain(ranks, work));
  }
  for (size_t i = works_.size(); i-- > 0;) {
    if (is_done[i]) works_.erase(works_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return works_.empty() && next_ == order_.size();
}

bool GradientSum::advance_direct(Ranks& ranks, Work& work) {
  const int own_rank = slices_.rank(), channel = channel_of(work.bucket);
  const Slices::Range slice = slices_.own(work.bucket);
  if (work.phase == 0) {
    work.came.resize(slice.size() * static_cast<size_t>(size_));
    for (int step = 1; step < size_; ++step) {
      const int from = (own_rank + size_ - step) % size_;
      const auto to =
          std::span(work.came).subspan(static_cast<size_t>(from) * slice.size(), slice.size());
      if (!to.empty()) {
        work.transfers.push_back(ranks.receive(from, channel, std::as_writable_bytes(to)));
      }
    }
    work.phase = 1;
  }
  if (work.phase == 1) {
    if (!is_final(work.bucket)) return false;
    send_slices(ranks, work);
    work.phase = 2;
  }
  if (!all_done(ranks, work.transfers)) return false;
  add_slices(work);
  return true;
}

// Each rank starts with another receiver, so that they do not all send to the same one.
void GradientSum::send_slices(Ranks& ranks, Work& work) {
  for (int step = 1; step < size_; ++step) {
    const int to = (slices_.rank() + step) % size_;
    const auto part = own(slices_.slice(work.bucket, to));
    if (part.empty()) continue;
    work.transfers.push_back(ranks.send(to, channel_of(work.bucket), std::as_bytes(part)));
  }
}

void GradientSum::add_slices(const Work& work) {
  const std::span<float> sum = own(slices_.own(work.bucket));
  std::vector<const float*> sources;
  for (int rank = 0; rank < size_; ++rank) {
    const float* came = work.came.data() + static_cast<size_t>(rank) * sum.size();
    sources.push_back(rank == slices_.rank() ? sum.data() : came);
  }
  add_in_order(sources, sum);
}

bool GradientSum::advance_chain(Ranks& ranks, Work& work) {
  const int rank = slices_.rank(), last = size_ - 1, channel = channel_of(work.bucket);
  const Slices::Range bucket = slices_.bucket(work.bucket);
  if (work.phase == 0) {
    if (rank > 0) {
      work.came.resize(bucket.size());
      work.transfers.push_back(
          ranks.receive(rank - 1, channel, std::as_writable_bytes(std::span(work.came))));
    }
    work.phase = 1;
  }
  if (work.phase == 1) {
    const auto sending = std::ranges::count(works_, 2, &Work::phase);
    if (sending >= static_cast<std::ptrdiff_t>(kSending) || !is_final(work.bucket) ||
        !all_done(ranks, work.transfers)) {
      return false;
    }
    add_to_chain(work);
    if (rank == last) {
      send_slices(ranks, work);
    } else {
      work.transfers.push_back(ranks.send(rank + 1, channel, std::as_bytes(own(bucket))));
    }
    work.phase = 2;
  }
  if (work.phase == 2) {
    if (!all_done(ranks, work.transfers)) return false;
    const auto total = own(slices_.own(work.bucket));
    if (rank < last && !total.empty()) {
      work.transfers.push_back(ranks.receive(last, channel, std::as_writable_bytes(total)));
    }
    work.phase = 3;
  }
  return all_done(ranks, work.transfers);
}

void GradientSum::add_to_chain(const Work& work) {
  const Slices::Range bucket = slices_.bucket(work.bucket);
  std::vector<const float*> sources;
  if (!work.came.empty()) sources.push_back(work.came.data());
  for (size_t worker = 0; worker < own_.size(); ++worker) {
    sources.push_back(own(bucket, worker).data());
  }
  if (sources.size() > 1) add_in_order(sources, own(bucket));
}

SliceGather::SliceGather(const Slices& slices, std::span<float> all, int ranks)
    : slices_(slices), all_(all), size_(ranks), ends_(slices.buckets()) {}

bool SliceGather::advance(Ranks& ranks) {
  while (next_ < slices_.buckets() && transfers_.size() < kWindow) {
    const Slices::Range bucket = slices_.bucket(next_);
    for (int rank = 0; rank < size_; ++rank) {
      ends_[next_].push_back((slices_.slice(next_, rank).end - bucket.begin) * sizeof(float));
    }
    const auto bytes = std::as_writable_bytes(all_.subspan(bucket.begin, bucket.size()));
    transfers_.push_back(ranks.gather(bytes, ends_[next_]));
    ++next_;
  }
  return all_done(ranks, transfers_) && next_ == slices_.buckets();
}

void SliceCollect::begin(Ranks& ranks) {
  for (size_t b = 0; b < slices_.buckets(); ++b) {
    const auto own = own_.subspan(slices_.offset(b), slices_.own(b).size());
    if (slices_.rank() > 0) {
      if (!own.empty()) transfers_.push_back(ranks.send(0, channel_of(b), std::as_bytes(own)));
      continue;
    }
    std::ranges::copy(own, all_.begin() + static_cast<std::ptrdiff_t>(slices_.own(b).begin));
    for (int rank = 1; rank < size_; ++rank) {
      const Slices::Range from = slices_.slice(b, rank);
      if (from.size() == 0) continue;
      const auto to = all_.subspan(from.begin, from.size());
      transfers_.push_back(ranks.receive(rank, channel_of(b), std::as_writable_bytes(to)));
    }
  }
}

bool SliceCollect::advance(Ranks& ranks) {
  if (!std::exchange(has_begun_, true)) begin(ranks);
  return all_done(ranks, transfers_);
}

}  // namespace residual::train
