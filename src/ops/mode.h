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

// The precision of the fused operators' matrix products in this thread. With bfloat16, float32
// tensors are rounded when a product reads them, sums are float32, and what a block computes
// between its products is kept in bfloat16. Everything else stays float32.
enum class Products { float32, bfloat16 };
void set_products(Products products);
Products products();

// Tells whether a fused kernel can process these tensors; undefined ones are ignored.
bool kernels_fit(std::initializer_list<Tensor> tensors);
// The same for a product in bfloat16, whose tensors may be float32 or bfloat16.
bool bf16_kernels_fit(std::initializer_list<Tensor> tensors);

}  // namespace residual::ops
