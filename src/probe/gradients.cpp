#include "probe/gradients.h"

#include <cmath>

namespace residual::probe {
namespace {

double norm_of(const Tensor& gradient) {
  return gradient.defined() ? at::norm(gradient, 2, at::kDouble).item<double>() : 0;
}

BlockGradients gradients_of(const nn::Parameters& parameters, const StackTrace& trace) {
  BlockGradients found{.parameters = block_norms(parameters, trace.side)};
  for (const Tensor& f : trace.outputs) found.outputs.push_back(norm_of(f.grad()));
  return found;
}

void clear(const nn::Parameters& parameters, const std::vector<StackTrace>& stacks) {
  parameters.gradients().zero_();
  for (const StackTrace& trace : stacks) {
    for (const Tensor& f : trace.outputs) f.mutable_grad().reset();
    trace.y.mutable_grad().reset();
  }
}

// In ResiDual blocks see the streams of Post-LN; only the stack's output differs. So the Post-LN
// part is what Post-LN would make of the same blocks, and the dual one is ResiDual without it.
GradientSplit split(const nn::Parameters& parameters, const std::vector<StackTrace>& stacks,
                    const StackTrace& trace, const Tensor& g) {
  schemes::Options resi_dual = parameters.config().residual;
  const double weight = resi_dual.output_scale;
  resi_dual.output_scale = 0;
  const auto part = [&](const schemes::Options& scheme, const Tensor& gradient) {
    clear(parameters, stacks);
    replay(parameters, trace, scheme, trace.layers()).backward(gradient, /*retain_graph=*/true);
    return gradients_of(parameters, trace);
  };
  GradientSplit parts{.post = part({.name = "post-ln"}, weight * g), .dual = part(resi_dual, g)};
  parts.direct = parts.dual.outputs.back();
  return parts;
}

}  // namespace

std::vector<double> block_norms(const nn::Parameters& parameters, Side side) {
  std::vector<double> squares(model::stack(parameters.config(), side).blocks());
  for (size_t i = 0; i < parameters.list().size(); ++i) {
    const auto& p = parameters.list()[i];
    if (p.side != side || p.block < 0) continue;
    const double norm = norm_of(parameters.gradients().narrow(0, parameters.offset(i), p.size()));
    squares[p.block] += norm * norm;
  }
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

std::vector<StackGradients> measure_gradients(const nn::Parameters& parameters,
                                              const std::vector<StackTrace>& stacks,
                                              const nn::Loss& loss) {
  for (const StackTrace& trace : stacks) {
    trace.y.retain_grad();
    for (const Tensor& f : trace.outputs) f.retain_grad();
  }
  parameters.gradients().zero_();
  const bool is_resi_dual = parameters.config().residual.name == "resi-dual";
  (loss.sum / loss.predictions).backward({}, /*retain_graph=*/is_resi_dual);

  std::vector<StackGradients> measured;
  std::vector<Tensor> at_outputs;
  for (const StackTrace& trace : stacks) {
    measured.push_back({.side = trace.side, .total = gradients_of(parameters, trace)});
    at_outputs.push_back(trace.y.grad());
  }
  for (size_t s = 0; is_resi_dual && s < stacks.size(); ++s) {
    measured[s].split = split(parameters, stacks, stacks[s], at_outputs[s]);
  }
  return measured;
}

}  // namespace residual::probe
