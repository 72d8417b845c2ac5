#pragma once

#include "ops/dropout.h"
#include "ops/tensor.h"

namespace residual::ops {
namespace reference {

// Returns drop(sqrt(d) E[id] + P[position]) for each id; E [symbols, d], P [positions, d].
Tensor embed(const Tensor& ids, const Tensor& positions, const Tensor& embedding,
             const Tensor& table, const Dropout& dropout);

}  // namespace reference

// The same function, by a kernel where it applies.
Tensor embed(const Tensor& ids, const Tensor& positions, const Tensor& embedding,
             const Tensor& table, const Dropout& dropout);

}  // namespace residual::ops
