#pragma once

#include <string>

namespace residual::train {

// Returns the version of the loaded LibTorch and whether it finds a GPU: "1.13.1, no CUDA".
std::string torch_version();

}  // namespace residual::train
