#include "probe/representation.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace residual::probe {
namespace {

constexpr double kTiny = 1e-12;  // avoids a division by zero for a row of zeros

Tensor standardised(const Tensor& x) { return at::layer_norm(x, {x.size(1)}, {}, {}, kTiny); }

double mean_difference(const Tensor& a, const Tensor& b) {
  return (a - b).abs().mean(at::kDouble).item<double>();
}

// Cosines of every pair of inputs, averaged over rows: one product of [blocks, rows * width].
std::vector<std::vector<double>> similarities(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> units;
  for (const Tensor& x : inputs) {
    units.push_back((x / x.norm(2, 1, /*keepdim=*/true).clamp_min(kTiny)).flatten());
  }
  const Tensor all = at::stack(units);
  const auto rows = static_cast<double>(inputs[0].size(0));
  const Tensor cosines = (at::mm(all, all.t()) / rows).to(at::kDouble).contiguous();
  std::vector<std::vector<double>> matrix;
  for (size_t j = 0; j < inputs.size(); ++j) {
    const double* row = cosines.data_ptr<double>() + j * inputs.size();
    matrix.emplace_back(row, row + inputs.size());
  }
  return matrix;
}

}  // namespace

Representation measure_representation(const std::vector<Tensor>& inputs) {
  const at::NoGradGuard no_grad;
  Representation r{.normalised_change = normalised_changes(inputs),
                   .similarity = similarities(inputs)};
  for (size_t k = 0; k + 1 < inputs.size(); ++k) {
    r.change.push_back(mean_difference(inputs[k + 1], inputs[k]));
    r.cosine.push_back(r.similarity[k][k + 1]);
  }
  return r;
}

std::vector<double> normalised_changes(const std::vector<Tensor>& inputs) {
  const at::NoGradGuard no_grad;
  std::vector<double> changes;
  Tensor below;
  for (const Tensor& x : inputs) {
    Tensor here = standardised(x);
    if (below.defined()) changes.push_back(mean_difference(here, below));
    below = std::move(here);
  }
  return changes;
}

std::vector<double> output_changes(const nn::Parameters& parameters, const StackTrace& trace) {
  const at::NoGradGuard no_grad;
  std::vector<double> changes;
  for (int layers = trace.layers() - 1; layers >= 0; --layers) {
    const Tensor y = replay(parameters, trace, parameters.config().residual, layers);
    changes.push_back(mean_difference(trace.y, y));
  }
  return changes;
}

double expected_change(double share) {
  const double variance = 2 - 2 * std::sqrt(1 - share);
  return std::sqrt(2 / std::numbers::pi * variance);
}

}  // namespace residual::probe
