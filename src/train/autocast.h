#pragma once

#include "ops/autocast.h"
#include "ops/mode.h"
#include "run/config.h"

namespace residual::train {

// Computes this thread's matrix products in the lower precision while the object lives: by fused
// operators on the CPU, elsewhere by LibTorch's autocast.
class Autocast {
 public:
  Autocast(run::TrainingPrecision precision, at::Device device)
      : on_(precision != run::TrainingPrecision::fp32),
        fused_(device.is_cpu() && ops::mode() == ops::Mode::fused),
        device_(device.type()),
        type_(precision == run::TrainingPrecision::fp16 ? at::kHalf : at::kBFloat16) {
    if (!on_) return;
    if (fused_) {
      ops::set_products(ops::Products::bfloat16);
    } else {
      ops::set_autocast(device_, true, type_);
    }
  }
  ~Autocast() {
    if (!on_) return;
    if (fused_) {
      ops::set_products(ops::Products::float32);
    } else {
      at::autocast::clear_cache();
      ops::set_autocast(device_, false, type_);
    }
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool on_, fused_;
  at::DeviceType device_;
  at::ScalarType type_;
};

}  // namespace residual::train
