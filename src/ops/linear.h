#pragma once

#include "ops/dropout.h"
#include "ops/tensor.h"

namespace residual::ops {
namespace reference {

// Returns x W^T + b for rows x [n, in], W [out, in], b [out].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

// Returns drop(max(0, x W^T + b)), the inner half of a feed-forward block.
Tensor linear_relu(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Dropout& dropout);

}  // namespace reference

// What an operator returns with products in bfloat16 (mode.h).
enum class Result {
  rows,    // float32
  inside,  // bfloat16, for the next operator of a block
};

// The same functions, by kernels where they apply. With products in bfloat16, linear_relu() returns
// bfloat16.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              Result result = Result::rows);
Tensor linear_relu(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Dropout& dropout);

}  // namespace residual::ops
