#include "train/scaler.h"

namespace residual::train {

LossScaler::LossScaler(const run::LossScaleConfig& config, run::TrainingPrecision precision)
    : config_(config),
      active_(precision == run::TrainingPrecision::fp16),
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

bool LossScaler::overflowed() {
  scale_ /= 2;
  good_ = 0;
  return scale_ >= config_.minimum;
}

}  // namespace residual::train
