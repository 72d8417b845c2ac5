#pragma once

#include "ops/dropout.h"
#include "ops/tensor.h"

namespace residual::ops {
namespace reference {

// drop(sqrt(d) E[id] + P[position]) for each of the ids; E [symbols, d], P [positions, d].
Tensor embed(const Tensor& ids, const Tensor& positions, const Tensor& embedding,
             const Tensor& table, const Dropout& dropout);

}  // namespace reference

// The same, by a kernel where it fits.
Tensor embed(const Tensor& ids, const Tensor& positions, const Tensor& embedding,
             const Tensor& table, const Dropout& dropout);

}  // namespace residual::ops
