#include "train/scaler.h"

#include "base/error.h"

namespace residual::train {

LossScaler::LossScaler(const LossScaleConfig& config, Precision precision)
    : config_(config),
      active_(precision == Precision::fp16),
      scale_(active_ ? config.initial : 1) {}

void LossScaler::restore(double scale, int64_t good_updates) {
  scale_ = scale;
  good_ = good_updates;
}

void LossScaler::succeeded() {
  if (!active_ || ++good_ < config_.window) return;
  scale_ *= 2;
  good_ = 0;
}

void LossScaler::overflowed() {
  scale_ /= 2;
  good_ = 0;
  require(scale_ >= config_.minimum,
          "gradients overflow even with the loss scaled by {} (loss_scale.minimum is {}): the loss "
          "is growing without bound; lower schedule.peak, set optimizer.clip_norm, or train in "
          "bf16 or fp32",
          scale_, config_.minimum);
}

}  // namespace residual::train
