#pragma once

#include <initializer_list>

#include "ops/tensor.h"

namespace residual::ops {

// fused: the project's kernels wherever they apply, which is on the CPU in float32.
// reference: every operator by its definition in ATen, on any device and in any precision.
enum class Mode { fused, reference };

// Sets the mode of the whole process; call it before the first operator runs.
void set_mode(Mode mode);
Mode mode();

// Tells whether a fused kernel can process these tensors; undefined ones are ignored.
bool kernels_fit(std::initializer_list<Tensor> tensors);

}  // namespace residual::ops
