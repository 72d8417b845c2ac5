#pragma once

#include <cstdint>

#include "training_kernels/dropout.h"

// bfloat16, the upper half of a float32: what training keeps inside a block with
// train.precision = "bf16".
namespace residual::kernels {

using Bf16 = uint16_t;

// Rounds to the nearest, ties to even. A number below 2^-126 becomes a zero of its sign, and NaN
// stays NaN: the instructions of AVX512-BF16 round so.
void to_bf16(const float* x, int64_t count, Bf16* y);
void from_bf16(const Bf16* x, int64_t count, float* y);

// epilogue.h's relu_dropout_gradient() on bfloat16.
void relu_dropout_gradient(const Bf16* y, const Bf16* dy, const Dropout& dropout, int64_t count,
                           Bf16* dx);

}  // namespace residual::kernels
