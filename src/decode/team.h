#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "kernels/matrix.h"

namespace residual::decode {

// Threads that share the work of single products, for when there are fewer sentences than cores.
// A decoding step has dozens of products of a few microseconds each, so the threads wait for the
// next one by looking, and only fall asleep after a while without any. Nobody waits for a thread
// that has not begun: where others keep the cores busy, the caller does the work alone.
class Team {
 public:
  // The calling thread is one of them.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  // Calls task(i) once for each i below `count`, and returns when all are done. Every member begins
  // with a share of its own, the same whenever `count` is, and then helps the others with theirs.
  // One caller at a time; task must not throw. `upcoming`: bytes that later calls will read, each
  // member its share of them. Whoever has to wait fetches some of them.
  template <class Task>
  void run(uint32_t count, const Task& task, std::span<const std::byte> upcoming = {}) {
    run_erased(
        count, [](const void* t, uint32_t i) { (*static_cast<const Task*>(t))(i); }, &task,
        upcoming);
  }

 private:
  struct alignas(64) Share {
    std::atomic<uint64_t> left = 0;  // round << 32 | pieces that nobody has taken
  };
  using Bytes = std::span<const std::byte>;

  void stop();

  using Call = void (*)(const void* task, uint32_t i);
  void run_erased(uint32_t count, Call call, const void* task, Bytes upcoming);
  void help(int member);
  // Returns what this member may fetch while it waits; `before` if it did nothing.
  Bytes work(int member, uint32_t round, Bytes before);
  // A member's share of `count` ends where the next one's begins.
  template <class Count>
  Count begin_of(int member, Count count) const {
    return count * static_cast<Count>(member) / static_cast<Count>(size());
  }

  std::atomic<bool> stopped_ = false;
  int size_;
  std::unique_ptr<Share[]> shares_;  // of the members; the caller is the first
  // Of this round. Whoever takes a piece may read them: the round lasts until that piece is done.
  Call call_ = nullptr;
  const void* task_ = nullptr;
  uint32_t count_ = 0;
  Bytes upcoming_;
  std::atomic<int> cpu_ = -1;  // the caller's, as far as known
  // Apart from each other: one side spins on each.
  alignas(64) std::atomic<uint32_t> round_ = 0;
  alignas(64) std::atomic<uint32_t> unfinished_ = 0;
  std::vector<std::thread> helpers_;
};

// Calls task(i) for each i below `count`, as Team::run; one after the other if `team` is null.
template <class Task>
void run(Team* team, size_t count, const Task& task) {
  if (team != nullptr) return team->run(static_cast<uint32_t>(count), task);
  for (size_t i = 0; i < count; ++i) task(i);
}

// The product, its columns shared out among the team's members; alone if `team` is null. Either
// way the result is the same, bit for bit. `next`: the matrix of the next product.
void multiply(const kernels::PackedMatrix& matrix, const kernels::Product& product, Team* team,
              const kernels::PackedMatrix* next = nullptr);

}  // namespace residual::decode
