#pragma once

#include "base/label_smoothing.h"
#include "ops/tensor.h"

namespace residual::ops {

struct LossSpec {
  double label_smoothing = 0.1;
  LabelSmoothing smoothing = LabelSmoothing::others;
};

// The weights of -log p of the gold symbol and of every symbol.
struct SmoothedTargets {
  double gold, each;
};
SmoothedTargets smoothed_targets(const LossSpec& spec, int64_t symbols);

struct LossSums {
  Tensor loss;  // smoothed, to be differentiated
  Tensor nll;   // -log p(gold)
};

namespace reference {

// Sums the cross entropy of softmax(y E^T) with the smoothed targets over the rows y [n, d];
// E [V, d]. Computes in float32 at least.
LossSums output_loss(const Tensor& y, const Tensor& embedding, const Tensor& targets,
                     const LossSpec& spec);

}  // namespace reference

// The same function, by kernels where they apply. Logits exist for only a few rows at once, and the
// gradient is computed in the same pass.
LossSums output_loss(const Tensor& y, const Tensor& embedding, const Tensor& targets,
                     const LossSpec& spec);

}  // namespace residual::ops
