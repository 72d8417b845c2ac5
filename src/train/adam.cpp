#include "train/adam.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "train/ranks/slices.h"

namespace residual::train {
namespace {

constexpr int64_t kPiece = Slices::kPiece;  // a few fit a core's second-level cache

// The sum of squares in eight fixed lanes. The compiler can vectorise it without reordering any
// addition, so the result is the same on every CPU.
double squares(const float* x, int64_t n) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = x[i + lane];
      lanes[lane] += value * value;
    }
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

}  // namespace

size_t piece_count(size_t floats) { return (floats + Slices::kPiece - 1) / Slices::kPiece; }

void reduce_gradients(std::span<const std::span<float>> gradients, double scale,
                      std::span<double> sums) {
  const auto size = static_cast<int64_t>(gradients[0].size());
  const auto factor = static_cast<float>(scale);
  parallel_for(size, kPiece, [&](int64_t begin, int64_t end) {
    float* to = gradients[0].data();
    for (size_t worker = 1; worker < gradients.size(); ++worker) {
      const float* from = gradients[worker].data();
      for (int64_t i = begin; i < end; ++i) to[i] += from[i];
    }
    for (int64_t i = begin; i < end; ++i) to[i] *= factor;
    sums[static_cast<size_t>(begin / kPiece)] = squares(to + begin, end - begin);
  });
}

double norm_of(std::span<const double> squares) {
  double sum = 0;
  for (const double piece : squares) sum += piece;
  return std::sqrt(sum);
}

void adam(const run::OptimizerConfig& config, const AdamStep& step, std::span<float> values,
          std::span<const float> gradient, std::span<float> m, std::span<float> v,
          std::span<float> average) {
  const auto t = static_cast<double>(step.number);
  const double correction1 = 1 - std::pow(config.beta1, t);
  const double root2 = std::sqrt(1 - std::pow(config.beta2, t));
  const bool fairseq = config.form == run::AdamForm::fairseq;
  // The textbook's denominator times root2 equals fairseq's, except for epsilon.
  const auto size = static_cast<float>(step.learning_rate * root2 / correction1);
  const auto epsilon = static_cast<float>(fairseq ? config.epsilon : config.epsilon * root2);
  const auto decay = static_cast<float>(step.learning_rate * config.weight_decay);
  const auto b1 = static_cast<float>(config.beta1), b2 = static_cast<float>(config.beta2);
  const auto c1 = static_cast<float>(1 - config.beta1), c2 = static_cast<float>(1 - config.beta2);
  const auto clip = static_cast<float>(step.gradient_scale);
  const auto rate = static_cast<float>(average_rate(config, step.number));
  parallel_for(static_cast<int64_t>(values.size()), kPiece, [&](int64_t begin, int64_t end) {
    float* const p = values.data();
    float* const mean = m.data();
    float* const square = v.data();
    const float* const from = gradient.data();
    for (int64_t i = begin; i < end; ++i) {
      const float g = clip * from[i];
      mean[i] = b1 * mean[i] + c1 * g;
      square[i] = b2 * square[i] + c2 * g * g;
      p[i] -= decay * p[i];
      p[i] -= size * mean[i] / (std::sqrt(square[i]) + epsilon);
    }
    if (average.empty()) return;
    float* const a = average.data();
    for (int64_t i = begin; i < end; ++i) a[i] += rate * (p[i] - a[i]);
  });
}

double average_rate(const run::OptimizerConfig& config, int64_t number) {
  return std::max(1 - config.average_decay, 9 / static_cast<double>(number + 8));
}

double clip_factor(double clip_norm, double norm) {
  return clip_norm > 0 ? std::min(1.0, clip_norm / (norm + 1e-6)) : 1.0;
}

}  // namespace residual::train
