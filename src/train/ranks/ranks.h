#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace residual::train {

// The processes that a launcher started together, called ranks, and the transfers between them. MPI
// implements it in a module of its own (src/mpi), tests implement it by threads.
//
// One thread of a process makes all calls. A transfer only starts in a call; its memory belongs to
// it until done() has returned true, once. Calls of done() keep all transfers moving. A function
// throws an Error if MPI reports one.
class Ranks {
 public:
  using Transfer = size_t;

  // Waits for all ranks, unless give_up() was called.
  virtual ~Ranks() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Messages between two ranks on one channel arrive in the order of the calls.
  virtual Transfer send(int to, int channel, std::span<const std::byte> bytes) = 0;
  virtual Transfer receive(int from, int channel, std::span<std::byte> bytes) = 0;

  // All ranks make these calls in the same order. gather() completes `all`, of which rank r holds
  // the bytes from ends[r - 1] to ends[r]; spread() copies the bytes of rank 0.
  virtual Transfer gather(std::span<std::byte> all, std::span<const size_t> ends) = 0;
  virtual Transfer spread(std::span<std::byte> bytes) = 0;

  virtual bool done(Transfer transfer) = 0;

  // Another rank is lost. No other call follows, and nothing waits for the transfers under way.
  virtual void give_up() = 0;
};

// What a module exports: its version, which must be that of the program, and a function that meets
// the other ranks.
inline constexpr const char* kRanksVersion = "residual_ranks_version";
inline constexpr const char* kOpenRanks = "residual_open_ranks";
using RanksVersion = const char*();
using OpenRanks = Ranks*();

}  // namespace residual::train
