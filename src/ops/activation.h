#pragma once

#include "ops/tensor.h"

// What feed-forward blocks compute besides products and ReLU (ops/linear.h).
namespace residual::ops {
namespace reference {

Tensor swish(const Tensor& x);      // x / (1 + e^-x)
Tensor gelu(const Tensor& x);       // x (1 + erf(x / sqrt(2))) / 2
Tensor gelu_tanh(const Tensor& x);  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))

}  // namespace reference

// The same functions by ATen's own kernels, on any device and in any precision.
Tensor swish(const Tensor& x);
Tensor gelu(const Tensor& x);
Tensor gelu_tanh(const Tensor& x);

}  // namespace residual::ops
