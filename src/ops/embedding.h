#pragma once

#include "ops/dropout.h"
#include "ops/tensor.h"

namespace residual::ops {
namespace reference {

// Returns drop(c E[id] + P[position]) for each id; E [symbols, d], P [positions, d]. c is `factor`;
// 0: sqrt(d).
Tensor embed(const Tensor& ids, const Tensor& positions, const Tensor& embedding,
             const Tensor& table, const Dropout& dropout, double factor = 0);

}  // namespace reference

// The same function, by a kernel where it applies, which is to a table that needs no gradient.
Tensor embed(const Tensor& ids, const Tensor& positions, const Tensor& embedding,
             const Tensor& table, const Dropout& dropout, double factor = 0);

}  // namespace residual::ops
