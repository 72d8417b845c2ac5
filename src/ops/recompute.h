#pragma once

#include <functional>

#include "ops/tensor.h"

namespace residual::ops {

// f(x, memory), of which the backward pass finds nothing kept but x and memory: it computes f
// again. The gradients are those of f to the last bit, provided that f computes the same twice,
// as dropout by place does. `memory` may be undefined. f must own what it refers to, since it is
// called when its caller has returned; gradients of the parameters in it are added to their
// grad(), so they come from backward(), never from autograd::grad().
using RowsFunction = std::function<Tensor(const Tensor& x, const Tensor& memory)>;
Tensor recompute(RowsFunction f, const Tensor& x, const Tensor& memory = {});

}  // namespace residual::ops
