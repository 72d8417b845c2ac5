#pragma once

// The part of LibTorch that the project uses: tensors and differentiable functions of them. The
// whole of <torch/torch.h> takes three times as long to compile.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/grad_mode.h>

namespace residual {

using at::Tensor;

}  // namespace residual
