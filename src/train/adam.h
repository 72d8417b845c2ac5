#pragma once

#include <cstdint>
#include <span>

#include "run/config.h"

// The end of an update on flat buffers: gradients of all workers become one, then Adam. Both run
// on all threads in pieces whose size is fixed, so that no bit depends on the number of threads.
namespace residual::train {

// gradients[0] = scale * (gradients[0] + gradients[1] + ...), added in that order. Returns its L2
// norm (not finite if an element is not).
double reduce_gradients(std::span<const std::span<float>> gradients, double scale);

struct AdamStep {
  double learning_rate;
  double gradient_scale;  // of clipping
  int64_t number;         // of the update, from 1
};

// With weight decay w decoupled:
//
//   p -= lr w p
//   m  = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2
//   fairseq:   p -= lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps)
//   textbook:  p -= lr / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + eps)
//
// and, if there is one, the average of p moves too:
//
//   a += average_rate (p - a)
void adam(const run::OptimizerConfig& config, const AdamStep& step, std::span<float> values,
          std::span<const float> gradient, std::span<float> m, std::span<float> v,
          std::span<float> average = {});

// max(1 - average_decay, 9 / (t + 8)) at update t: the first parameters are soon forgotten, and
// the average of a short run is not that of its beginning.
double average_rate(const run::OptimizerConfig& config, int64_t number);

// min(1, clip / (norm + 1e-6)), 1 without clipping: fairseq's factor.
double clip_factor(double clip_norm, double norm);

}  // namespace residual::train
