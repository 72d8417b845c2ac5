#pragma once

#include <atomic>
#include <cstdint>
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

  int size() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls task(i) once for each i below `count`, in whichever thread comes first, and returns when
  // all are done. One caller at a time; task must not throw.
  template <class Task>
  void run(uint32_t count, const Task& task) {
    run_erased(
        count, [](const void* t, uint32_t i) { (*static_cast<const Task*>(t))(i); }, &task);
  }

 private:
  void stop();

  using Call = void (*)(const void* task, uint32_t i);
  void run_erased(uint32_t count, Call call, const void* task);
  void help();
  void work(uint32_t round);

  // Of this round. Whoever takes a piece may read them: the round lasts until that piece is done.
  Call call_ = nullptr;
  const void* task_ = nullptr;
  std::atomic<int> cpu_ = -1;  // the caller's, as far as known
  // Apart from each other: one side spins on each.
  alignas(64) std::atomic<uint32_t> round_ = 0;
  alignas(64) std::atomic<uint64_t> left_ = 0;  // round << 32 | pieces that nobody has taken
  alignas(64) std::atomic<uint32_t> unfinished_ = 0;
  std::atomic<bool> stopped_ = false;
  std::vector<std::thread> helpers_;
};

// The product, its columns shared out among the team's members; alone if `team` is null. Either
// way the result is the same, bit for bit.
void multiply(const kernels::PackedMatrix& matrix, const kernels::Product& product, Team* team);

}  // namespace residual::decode
