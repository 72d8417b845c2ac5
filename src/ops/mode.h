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

// Where a kernel is to add the gradient of a parameter: straight into parameter.grad() if there is
// one, so that nothing is allocated and no second pass adds it; into zeros otherwise.
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
