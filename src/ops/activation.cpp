#include "ops/activation.h"

#include <cmath>
#include <numbers>

namespace residual::ops {
namespace reference {

Tensor swish(const Tensor& x) { return x / (1 + (-x).exp()); }

Tensor gelu(const Tensor& x) { return x * (1 + at::erf(x / std::numbers::sqrt2)) / 2; }

Tensor gelu_tanh(const Tensor& x) {
  const double factor = std::sqrt(2 / std::numbers::pi);
  return x / 2 * (1 + at::tanh(factor * (x + 0.044715 * x * x * x)));
}

}  // namespace reference

Tensor swish(const Tensor& x) { return at::silu(x); }
Tensor gelu(const Tensor& x) { return at::gelu(x); }
Tensor gelu_tanh(const Tensor& x) { return at::gelu(x, "tanh"); }

}  // namespace residual::ops
