#pragma once

#include "ops/function.h"
#include "training_kernels/bf16_product.h"

// The linear layers of linear.h with products in bfloat16 (mode.h), and what they share with other
// operators. Rows are float32 or bfloat16; parameters are float32.
namespace residual::ops {

// x W^T + b, of the given type.
Tensor linear_bf16(const Tensor& x, const Tensor& weight, const Tensor& bias, at::ScalarType type);
// drop(max(0, x W^T + b)) in bfloat16.
Tensor linear_relu_bf16(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Dropout& dropout);

inline kernels::Bf16* halves(const Tensor& t) {
  return reinterpret_cast<kernels::Bf16*>(t.data_ptr<at::BFloat16>());
}

// A contiguous matrix as a factor of a product.
inline kernels::Operand operand(const Tensor& t) {
  return t.scalar_type() == at::kBFloat16
             ? kernels::operand(static_cast<const kernels::Bf16*>(halves(t)), t.size(0), t.size(1))
             : kernels::operand(values(t), t.size(0), t.size(1));
}

}  // namespace residual::ops
