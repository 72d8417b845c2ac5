#pragma once

#include <cstdint>
#include <span>

#include "run/config.h"

// The end of an update on flat buffers: the reduction of all workers' gradients, then Adam. Both
// run on all threads in pieces of a fixed size, so that no bit depends on the number of threads.
namespace residual::train {

// Sets gradients[0] = scale * (gradients[0] + gradients[1] + ...), added in that order, and
// squares[i] to the sum of squares of the result's piece i. Pieces have Slices::kPiece floats.
void reduce_gradients(std::span<const std::span<float>> gradients, double scale,
                      std::span<double> squares);
size_t piece_count(size_t floats);
// Returns the L2 norm, which is not finite if an element is not.
double norm_of(std::span<const double> squares);

struct AdamStep {
  double learning_rate;
  double gradient_scale;  // clipping factor
  int64_t number;         // number of the update, from 1
};

// Applies Adam with decoupled weight decay w:
//
//   p -= lr w p
//   m  = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2
//   fairseq:   p -= lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps)
//   textbook:  p -= lr / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + eps)
//
// and moves the average of p, if there is one:
//
//   a += average_rate (p - a)
void adam(const run::OptimizerConfig& config, const AdamStep& step, std::span<float> values,
          std::span<const float> gradient, std::span<float> m, std::span<float> v,
          std::span<float> average = {});

// Returns max(1 - average_decay, 9 / (t + 8)) at update t. The larger early rate discards the
// initial parameters soon, so that the average of a short run is not dominated by them.
double average_rate(const run::OptimizerConfig& config, int64_t number);

// Returns fairseq's clipping factor: min(1, clip / (norm + 1e-6)), or 1 without clipping.
double clip_factor(double clip_norm, double norm);

}  // namespace residual::train
