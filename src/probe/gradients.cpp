#include "probe/gradients.h"

#include <cmath>

#include "schemes/registry.h"

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

// A part of the output is what another scheme makes of the same blocks, because they see the same
// in it.
GradientSplit split(const nn::Parameters& parameters, const std::vector<StackTrace>& stacks,
                    const StackTrace& trace, const std::vector<schemes::Part>& parts,
                    const Tensor& g) {
  GradientSplit made;
  for (const auto& part : parts) {
    clear(parameters, stacks);
    replay(parameters, trace, part.alone, trace.layers())
        .backward(part.weight * g, /*retain_graph=*/true);
    made.streams.push_back({gradients_of(parameters, trace), part.stream});
  }
  made.direct = made.streams.back().outputs.back();
  return made;
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
  const schemes::Choice& scheme = parameters.config().residual;
  const auto parts = schemes::find(scheme.name).parts(scheme);
  (loss.sum / loss.predictions).backward({}, /*retain_graph=*/!parts.empty());

  std::vector<StackGradients> measured;
  std::vector<Tensor> at_outputs;
  for (const StackTrace& trace : stacks) {
    measured.push_back({.side = trace.side, .total = gradients_of(parameters, trace)});
    at_outputs.push_back(trace.y.grad());
  }
  for (size_t s = 0; !parts.empty() && s < stacks.size(); ++s) {
    measured[s].split = split(parameters, stacks, stacks[s], parts, at_outputs[s]);
  }
  return measured;
}

}  // namespace residual::probe
