#pragma once

#include "ops/dropout.h"
#include "ops/tensor.h"

// What the fused operators, each a torch::autograd::Function over kernels, have in common.
namespace residual::ops {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using Maybe = c10::optional<Tensor>;  // a Function's inputs may be absent, but not undefined

inline const float* values(const Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; }

// Keeps for backward() which elements a Function drops.
void save_dropout(AutogradContext* ctx, const Dropout& dropout);
Dropout saved_dropout(AutogradContext* ctx);

// Where a kernel is to add the gradient of a parameter: straight into parameter.grad() if there is
// one, so that nothing is allocated and no second pass adds it; into zeros otherwise. Therefore
// parameters that have a grad() get theirs from backward(), never from autograd::grad().
class ParameterGradient {
 public:
  explicit ParameterGradient(const Tensor& parameter);

  float* data() { return sum_.data_ptr<float>(); }
  // What backward() returns for the parameter: nothing if it has been added already.
  Tensor returned() const { return in_place_ ? Tensor() : sum_; }

 private:
  Tensor sum_;
  bool in_place_;
};

}  // namespace residual::ops
