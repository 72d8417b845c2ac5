#include "probe/theory.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "base/random.h"
#include "probe/representation.h"
#include "probe/streams.h"

namespace residual::probe {
namespace {

constexpr int kRows = 64;  // of a simulated batch

using Vector = std::vector<double>;

// a x + b y
Vector combined(double a, const Vector& x, double b, const Vector& y) {
  Vector out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[i] = a * x[i] + b * y[i];
  return out;
}

// W^T g for a W with entries N(0, 1 / width).
Vector through_block(const Vector& g, const Random& random) {
  const size_t width = g.size();
  const double deviation = 1 / std::sqrt(static_cast<double>(width));
  Vector out(width);
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = 0; j < width; ++j) out[i] += deviation * random.normal(i * width + j) * g[j];
  }
  return out;
}

double norm(const Vector& x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  return std::sqrt(squares);
}

Tensor gaussian(int width, double deviation, const Random& random) {
  Tensor x = at::empty({kRows, width}, at::kDouble);
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data_ptr<double>()[i] = deviation * random.normal(static_cast<uint64_t>(i));
  }
  return x;
}

}  // namespace

double printed_post_ln_gradient(int k, int n) {
  const double above = n - k;
  return std::pow(0.5, above / 2) * std::exp(std::sqrt(above));
}

double printed_pre_ln_gradient(int k, int n) { return std::sqrt(std::log(n - k) / n); }

double proved_pre_ln_gradient(int k, int n) { return std::log(n - k) / std::sqrt(n); }

double linear_post_ln_gradient(int, int) { return 1; }

double linear_pre_ln_gradient(int k, int n) { return std::sqrt((n + 1.0) / (n * (k + 1.0))); }

double printed_resi_dual_gradient(int k, int n) {
  return std::max(printed_post_ln_gradient(k, n), printed_pre_ln_gradient(k, n));
}

std::vector<double> simulate_linear_gradients(LinearModel model, int blocks, int width, int trials,
                                              uint64_t seed) {
  const bool pre_ln = model == LinearModel::pre_ln;
  std::vector<double> means(blocks);
  for (int trial = 0; trial < trials; ++trial) {
    const Random weights(seed, static_cast<uint64_t>(trial));
    const Vector top(width, 1 / std::sqrt(width));
    // The Jacobian of a norm is 1 over the deviation of its input: sqrt(2) after a Post-LN sum,
    // sqrt(l) for a sum of l addends.
    const Vector dual(width, model == LinearModel::resi_dual ? top[0] / std::sqrt(blocks) : 0);
    Vector g = combined(pre_ln ? 1 / std::sqrt(blocks) : 1, top, 0, top);  // at x_{k+1}
    for (int k = blocks; k >= 1; --k) {
      const double norm_jacobian = pre_ln ? 1 : 1 / std::numbers::sqrt2;
      const Vector sum = combined(norm_jacobian, g, 0, g);  // at x_k + f_k
      const Vector output = combined(1, sum, 1, dual);      // at f_k
      means[k - 1] += norm(output) / trials;
      const Vector back = through_block(output, Random(weights.bits(static_cast<uint64_t>(k))));
      g = combined(1, sum, pre_ln ? 1 / std::sqrt(k) : 1, back);
    }
  }
  return means;
}

double pre_ln_change(int k) { return expected_change(1.0 / k); }

double post_ln_variance(double branch_variance) { return 2 - 2 / std::sqrt(1 + branch_variance); }

double post_ln_change(double branch_variance) {
  return expected_change(branch_variance / (1 + branch_variance));
}

StackSimulation simulate_gaussian_stack(const std::string& scheme, int blocks, int width,
                                        double branch_variance, uint64_t seed) {
  const at::NoGradGuard no_grad;
  const StreamSpec spec{.stack = {.layers = blocks, .blocks_per_layer = 1},
                        .scheme = {.name = scheme}};
  const Tensor embedded = gaussian(width, 1, Random(seed));
  std::vector<Tensor> outputs;
  for (int k = 1; k <= blocks; ++k) {
    outputs.push_back(
        gaussian(width, std::sqrt(branch_variance), Random(seed, static_cast<uint64_t>(k))));
  }
  StackSimulation simulated;
  simulated.change =
      measure_representation(run_streams(spec, embedded, outputs).inputs).normalised_change;
  Tensor before = run_streams(spec, embedded, {}).y;
  for (size_t n = 1; n <= outputs.size(); ++n) {
    const Tensor y = run_streams(spec, embedded, std::span(outputs).first(n)).y;
    simulated.output_change.push_back((y - before).abs().mean().item<double>());
    before = y;
  }
  return simulated;
}

}  // namespace residual::probe
