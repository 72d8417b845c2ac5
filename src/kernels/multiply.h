#pragma once

#include "kernels/matrix.h"

// The instruction-set dependent half of PackedMatrix.
namespace residual::kernels {

// Panels::group of int8 weights on this CPU.
int int8_group();

// `product` with its strides and panels filled in. int8: `scratch` holds scratch_words().
void multiply_panels(const Panels& panels, const Product& product, int32_t* scratch);

}  // namespace residual::kernels
