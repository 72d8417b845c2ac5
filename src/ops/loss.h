#pragma once

#include "ops/tensor.h"

namespace residual::ops {

// The symbols that receive the smoothing mass eps, for a vocabulary of V symbols:
//   others   the gold symbol keeps 1 - eps, each other one gets eps / (V - 1): fairseq 0.12
//   all      each gets eps / V, the gold one 1 - eps more: fairseq before February 2021, and so the
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
