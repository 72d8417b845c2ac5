#include "ops/linear.h"

namespace residual::ops::reference {

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return at::linear(x, weight, bias);
}

Tensor linear_relu(const Tensor& x, const Tensor& weight, const Tensor& bias, const Dropout& d) {
  return dropout(at::relu(linear(x, weight, bias)), d);
}

}  // namespace residual::ops::reference
