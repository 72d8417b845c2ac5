#pragma once

#include "ops/tensor.h"

// What self-attention may do to its heads before ops/attention.h, in plain ATen for any device and
// type. Rows hold heads side by side.
namespace residual::ops {

// Rotary positions (Su et al. 2021, arXiv:2104.09864): rotates the pairs (j, w / 2 + j) of each
// head of width w by the row's angles. `turns` [rows, w]: cosines of the angles, then sines.
Tensor rotate(const Tensor& x, const Tensor& turns);

// Grouped queries (Ainslie et al. 2023, arXiv:2305.13245): repeats each of `heads` heads of keys or
// values `times` times, side by side.
Tensor repeat_heads(const Tensor& x, int64_t heads, int64_t times);

}  // namespace residual::ops
