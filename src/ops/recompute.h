#pragma once

#include <functional>

#include "ops/tensor.h"

namespace residual::ops {

// Returns f(x, memory) and keeps only x and memory for the backward pass, which computes f again.
// The gradients equal those of f to the last bit if f is deterministic, as dropout by place is.
// `memory` may be undefined. f must own everything it refers to, because it runs after its caller
// has returned. Gradients of f's parameters are added to their grad(), so use backward(), never
// autograd::grad().
using RowsFunction = std::function<Tensor(const Tensor& x, const Tensor& memory)>;
Tensor recompute(RowsFunction f, const Tensor& x, const Tensor& memory = {});

}  // namespace residual::ops
