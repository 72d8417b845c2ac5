#pragma once

#include "ops/tensor.h"

namespace residual::ops {

// Where label smoothing puts its mass eps, V being the size of the vocabulary:
//   others   the gold symbol keeps 1 - eps, each other one has eps / (V - 1): fairseq 0.12
//   all      each has eps / V, the gold one 1 - eps more: fairseq before February 2021, and so the
//            code of DLCL, T-Fixup, Admin and B2T
enum class Smoothing { others, all };

struct LossSpec {
  double label_smoothing = 0.1;
  Smoothing smoothing = Smoothing::others;
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

// Sums over the rows y [n, d] of the cross entropy of softmax(y E^T) with the smoothed targets,
// E [V, d]; in float32 at least.
LossSums output_loss(const Tensor& y, const Tensor& embedding, const Tensor& targets,
                     const LossSpec& spec);

}  // namespace reference

// The same, by kernels where they fit: the logits exist for a few rows at a time, and the gradient
// is made in the same pass.
LossSums output_loss(const Tensor& y, const Tensor& embedding, const Tensor& targets,
                     const LossSpec& spec);

}  // namespace residual::ops
