#pragma once

#include <ATen/autocast_mode.h>

#include "train/config.h"

namespace residual::train {

// Matrix products in the lower precision while it lives, in this thread.
class Autocast {
 public:
  Autocast(Precision precision, at::Device device)
      : on_(precision != Precision::fp32), cpu_(device.is_cpu()) {
    if (!on_) return;
    if (cpu_) {
      at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
      at::autocast::set_cpu_enabled(true);
    } else {
      const bool half = precision == Precision::fp16;
      at::autocast::set_autocast_gpu_dtype(half ? at::kHalf : at::kBFloat16);
      at::autocast::set_enabled(true);
    }
  }
  ~Autocast() {
    if (!on_) return;
    at::autocast::clear_cache();
    cpu_ ? at::autocast::set_cpu_enabled(false) : at::autocast::set_enabled(false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool on_, cpu_;
};

}  // namespace residual::train
