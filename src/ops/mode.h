#pragma once

#include <initializer_list>

#include "ops/tensor.h"

namespace residual::ops {

// fused: the project's own kernels wherever they fit, which is on the CPU in float32.
// reference: every operator by its definition in ATen, on any device and in any precision.
enum class Mode { fused, reference };

// Of the whole process; to be set before the first operator runs.
void set_mode(Mode mode);
Mode mode();

// Whether a fused kernel may take these tensors; undefined ones do not matter.
bool kernels_fit(std::initializer_list<Tensor> tensors);

}  // namespace residual::ops
