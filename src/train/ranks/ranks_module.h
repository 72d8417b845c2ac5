#pragma once

#include <memory>

#include "train/ranks/device_link.h"
#include "train/ranks/peers.h"
#include "train/ranks/ranks.h"

namespace residual::train {

// Loads the module residual-mpi.so, which lies beside the program or where it is installed, and
// meets the other ranks. Only this needs MPI. Throws an Error that says what to install, or which
// versions differ.
std::unique_ptr<Ranks> open_ranks();

// The same for residual-nccl.so, which connects the GPUs of ranks that have met. Only this needs
// NCCL.
std::unique_ptr<DeviceLink> open_device_link(const Peers& peers, int device);

}  // namespace residual::train
