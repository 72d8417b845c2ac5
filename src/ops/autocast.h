#pragma once

#include <ATen/autocast_mode.h>
#include <torch/version.h>

// LibTorch's switch for lower-precision products, of this thread: a function per kind of device in
// 1.13, one for all of them since 2.4, which deprecates the others.
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
