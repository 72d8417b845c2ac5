#pragma once

#include <functional>
#include <string>

namespace residual::run {

// The rank of a process among those that train one model, and the address where they meet.
struct Place {
  int rank = 0;
  int size = 1;
  std::string host;  // of process 0
  int port = 0;
  std::string job;  // keeps two groups on the same machines apart; may be empty
};

// Reads the place from the launcher's environment variables: torchrun (RANK, WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT; also set by hand), Open MPI, MPICH and Intel MPI, or Slurm.
// `variable` returns a variable's value, or null if it is not set.
Place place_from(const std::function<const char*(const char*)>& variable);
Place place_from_environment();

}  // namespace residual::run
