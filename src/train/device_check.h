#pragma once

#include <string>
#include <vector>

namespace residual::train {

struct DeviceCheck {
  bool passed;
  std::string name, found;
};

// Computes the first updates of a small model of every residual scheme on `device`, and compares
// loss, gradient and parameters with those of the CPU's reference operators; then the loss in bf16
// and, on a GPU, fp16. Throws an Error if there is no such device.
std::vector<DeviceCheck> check_device(const std::string& device);

}  // namespace residual::train
