#pragma once

#include <memory>

#include "train/ranks/ranks.h"

namespace residual::train {

// Loads the module residual-mpi.so, which lies beside the program or where it is installed, and
// meets the other ranks. Only this needs MPI. Throws an Error that says what to install, or which
// versions differ.
std::unique_ptr<Ranks> open_ranks();

}  // namespace residual::train
