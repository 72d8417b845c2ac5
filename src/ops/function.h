#pragma once

#include "ops/dropout.h"
#include "ops/tensor.h"

// Helpers of the fused operators, each of which is a torch::autograd::Function over kernels.
namespace residual::ops {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using Maybe = c10::optional<Tensor>;  // a Function's inputs may be absent, but not undefined

inline const float* values(const Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; }

// Saves a Function's dropout key and rate for backward().
void save_dropout(AutogradContext* ctx, const Dropout& dropout);
Dropout saved_dropout(AutogradContext* ctx);

// The tensor to which a kernel adds the gradient of a parameter: parameter.grad() if there is one,
// so that nothing is allocated and no second pass adds it; zeros otherwise. Therefore parameters
// with a grad() receive their gradients from backward(), never from autograd::grad().
class ParameterGradient {
 public:
  explicit ParameterGradient(const Tensor& parameter);

  float* data() { return sum_.data_ptr<float>(); }
  // The value that backward() returns for the parameter: undefined if the gradient was already
  // added.
  Tensor returned() const { return in_place_ ? Tensor() : sum_; }

 private:
  Tensor sum_;
  bool in_place_;
};

}  // namespace residual::ops
