#pragma once

#include "ops/tensor.h"
#include "train/ranks/device_link.h"
#include "train/ranks/peers.h"
#include "train/ranks/slices.h"

// What GradientSum and SliceGather do, for buffers in the memory of a device: every rank has one
// worker, which has finished its backward pass.
namespace residual::train {

// Adds the gradients of all ranks in the order of the ranks, with the bits of GradientSum. Each
// rank's own slices of `gradient` receive the sums; the rest is unchanged.
void sum_slices(const Peers& peers, DeviceLink& link, const Slices& slices, const Tensor& gradient);

// Completes a flat buffer in every rank, from the slices that the ranks own.
void gather_slices(const Peers& peers, DeviceLink& link, const Slices& slices,
                   const Tensor& values);

}  // namespace residual::train
