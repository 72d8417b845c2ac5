#pragma once

#include <ATen/autocast_mode.h>
#include <torch/version.h>

// LibTorch's switch for lower-precision products in this thread. LibTorch 1.13 has one function per
// kind of device; 2.4 has one for all of them and deprecates the others.
namespace residual::ops {

inline bool autocast_enabled_on_cpu() {
#if TORCH_VERSION_MAJOR >= 2
  return at::autocast::is_autocast_enabled(at::kCPU);
#else
  return at::autocast::is_cpu_enabled();
#endif
}

inline void set_autocast(at::DeviceType device, bool enabled, at::ScalarType type) {
#if TORCH_VERSION_MAJOR >= 2
  at::autocast::set_autocast_dtype(device, type);
  at::autocast::set_autocast_enabled(device, enabled);
#else
  if (device == at::kCPU) {
    at::autocast::set_autocast_cpu_dtype(type);
    at::autocast::set_cpu_enabled(enabled);
  } else {
    at::autocast::set_autocast_gpu_dtype(type);
    at::autocast::set_enabled(enabled);
  }
#endif
}

}  // namespace residual::ops
