#pragma once

#include <cstdint>

#include "run/config.h"

namespace residual::train {

// Dynamic loss scaling: float16 gradients below 6e-8 are zero, so the loss is multiplied by a
// factor before the backward pass and the gradient divided by it after. The factor doubles after
// `window` updates without overflow and halves at each overflow, whose update is skipped. In
// float32 and bfloat16 the factor is not needed and stays 1.
class LossScaler {
 public:
  LossScaler(const run::LossScaleConfig& config, run::TrainingPrecision precision);

  double scale() const { return scale_; }
  int64_t good_updates() const { return good_; }
  void restore(double scale, int64_t good_updates);
  bool active() const { return active_; }

  void succeeded();
  // Returns false when the factor has fallen below the minimum: the loss itself must be at fault.
  bool overflowed();

 private:
  run::LossScaleConfig config_;
  bool active_;
  double scale_;
  int64_t good_ = 0;  // updates since the factor last changed
};

}  // namespace residual::train
