#pragma once

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "train/ranks/courier.h"
#include "train/ranks/exchange.h"
#include "train/ranks/slices.h"

// Several processes that train one model. All of them call the same functions in the same order. If
// one disappears or fails, the others get an Error that names it.
namespace residual::train {

class Peers {
 public:
  // A single process, which sends nothing.
  Peers() = default;
  static Peers& alone();

  // Meets the other processes. `kind` must be the same text in all of them, because builds or CPUs
  // that compute differently cannot train together. A process that gives no sign of life for
  // `silence` counts as lost.
  Peers(const Courier::Open& open, const std::string& kind,
        Courier::Duration silence = std::chrono::seconds(10));
  // Waits for the others, unless an exception is on its way: then they learn that this one failed.
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool leads() const { return rank_ == 0; }
  const std::string& host(int rank) const { return hosts_[static_cast<size_t>(rank)]; }

  // This process's share of `count` elements is [first(count), end(count)).
  size_t first(size_t count) const { return first_of(rank_, count); }
  size_t end(size_t count) const { return first_of(rank_ + 1, count); }

  // Completes `all`, of which every process has filled in its own share, in every process.
  template <class T>
  void complete(std::span<T> all) const {
    std::vector<size_t> ends;
    for (int rank = 0; rank < size_; ++rank) ends.push_back(first_of(rank + 1, all.size()));
    complete(all, ends);
  }
  // The same with the shares that end at ends[rank].
  template <class T>
  void complete(std::span<T> all, std::vector<size_t> ends) const {
    static_assert(std::is_trivially_copyable_v<T>);
    for (size_t& end : ends) end *= sizeof(T);
    complete_bytes(std::as_writable_bytes(all), ends);
  }

  // Copies the value of process 0 to all processes.
  template <class T>
  void spread(std::vector<T>& values) const {
    static_assert(std::is_trivially_copyable_v<T>);
    values.resize(spread_size(values.size()));
    spread_bytes(std::as_writable_bytes(std::span(values)));
  }
  void spread(std::string& text) const;

  // Completes a flat buffer in every process, from the slices that each has filled in.
  void gather(const Slices& slices, std::span<float> all) const;
  // Copies the slices of all processes, `own` in this one, into a flat buffer of process 0.
  void collect(const Slices& slices, std::span<const float> own, std::span<float> all) const;

  // A task that goes on while this process computes. If an exception ends its life before wait()
  // has returned, the other processes learn that this one failed.
  class InBackground {
   public:
    InBackground(const Peers& peers, Courier::Task& task);
    ~InBackground();
    InBackground(const InBackground&) = delete;
    InBackground& operator=(const InBackground&) = delete;
    void wait() { courier_.wait(task_); }

   private:
    Courier& courier_;
    Courier::Task& task_;
  };

 private:
  size_t first_of(int rank, size_t count) const {
    return count * static_cast<size_t>(rank) / static_cast<size_t>(size_);
  }
  void introduce(const std::string& kind);
  void complete_bytes(std::span<std::byte> all, std::span<const size_t> ends) const;
  size_t spread_size(size_t size) const;
  void spread_bytes(std::span<std::byte> bytes) const;

  std::unique_ptr<Courier> courier_;
  int rank_ = 0, size_ = 1;
  int exceptions_ = 0;  // under way when the object was made
  std::vector<std::string> hosts_;
};

}  // namespace residual::train
