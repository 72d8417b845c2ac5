#pragma once

// LibTorch as the project uses it: tensors and differentiable functions over them. The whole of
// <torch/torch.h> takes three times as long to compile.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/grad_mode.h>

namespace residual {

using at::Tensor;

}  // namespace residual
