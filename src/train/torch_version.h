#pragma once

#include <string>

namespace residual::train {

// "1.13.1, no CUDA": of the LibTorch that runs, and whether it finds a GPU.
std::string torch_version();

}  // namespace residual::train
