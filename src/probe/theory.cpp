#include "probe/theory.h"

#include <cmath>
#include <numbers>
#include <span>

#include "base/random.h"
#include "probe/representation.h"
#include "probe/streams.h"

namespace residual::probe {
namespace {

constexpr int kRows = 64;  // of a simulated batch

// g + c W^T g for a W with entries N(0, 1 / width).
std::vector<double> through_block(const std::vector<double>& g, double c, const Random& random) {
  const size_t width = g.size();
  const double deviation = c / std::sqrt(static_cast<double>(width));
  std::vector<double> out = g;
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = 0; j < width; ++j) out[i] += deviation * random.normal(i * width + j) * g[j];
  }
  return out;
}

double norm(const std::vector<double>& x) {
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

double linear_pre_ln_gradient(int k, int) { return 1 / std::sqrt(k); }

std::vector<double> simulate_linear_gradients(LinearModel model, int blocks, int width, int trials,
                                              uint64_t seed) {
  std::vector<double> means(blocks);
  for (int trial = 0; trial < trials; ++trial) {
    const Random trial_seed(seed, static_cast<uint64_t>(trial));
    std::vector<double> g(width, 1 / std::sqrt(width));
    // What the norms do to a gradient: 1 / sqrt(2) after each Post-LN sum, 1 / sqrt(n) once at the
    // top of Pre-LN and 1 / sqrt(l) before its block l.
    double scale = model == LinearModel::post_ln ? 1 : 1 / std::sqrt(blocks);
    for (int k = blocks; k >= 1; --k) {
      if (model == LinearModel::post_ln) scale /= std::numbers::sqrt2;
      means[k - 1] += scale * norm(g) / trials;
      const double c = model == LinearModel::post_ln ? 1 : 1 / std::sqrt(k);
      g = through_block(g, c, Random(trial_seed.bits(static_cast<uint64_t>(k))));
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
