#include "train/ranks/ranks_module.h"

#include "train/ranks/module.h"

namespace residual::train {

std::unique_ptr<Ranks> open_ranks() {
  const Module module("residual-mpi.so", "--distributed",
                      "is not installed: install the package residual-mpi, or install "
                      "libopenmpi-dev and build with "
                      "-DRESIDUAL_MPI=ON",
                      kRanksVersion);
  return std::unique_ptr<Ranks>(module.find<OpenRanks>(kOpenRanks)());
}

std::unique_ptr<DeviceLink> open_device_link(const Peers& peers, int device) {
  const Module module(
      "residual-nccl.so", "--distributed on GPUs",
      "is not installed: build with -DRESIDUAL_NCCL=ON, as docs/training.md describes",
      kDeviceVersion);
  std::vector<DeviceIdentity> identity(1);
  if (peers.leads()) module.find<MakeIdentity>(kMakeIdentity)(&identity[0]);
  peers.spread(identity);
  const auto open = module.find<OpenDevice>(kOpenDevice);
  return std::unique_ptr<DeviceLink>(open(&identity[0], peers.rank(), peers.size(), device));
}

}  // namespace residual::train
