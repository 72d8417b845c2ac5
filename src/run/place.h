#pragma once

#include <functional>

namespace residual::run {

// The rank of a process among those that a launcher started to train one model.
struct Place {
  int rank = 0;
  int size = 1;
};

// Reads the place from the environment variables of the launcher: mpirun of Open MPI, of MPICH or
// Intel MPI, or Slurm's srun. `variable` returns a variable's value, or null if it is not set.
Place place_from(const std::function<const char*(const char*)>& variable);
Place place_from_environment();

}  // namespace residual::run
