#include "train/torch_version.h"

#include <fmt/format.h>
#include <torch/version.h>

#include "ops/tensor.h"

namespace residual::train {

std::string torch_version() {
  return fmt::format("{}, {}", TORCH_VERSION, at::hasCUDA() ? "with CUDA" : "no CUDA");
}

}  // namespace residual::train
