#include "train/optimizer.h"

#include <cmath>
#include <span>

namespace residual::train {
namespace {

std::span<float> span(const Tensor& t) {
  return {t.data_ptr<float>(), static_cast<size_t>(t.numel())};
}

}  // namespace

namespace reference {

void adam(const run::OptimizerConfig& c, const AdamStep& step, Tensor& values,
          const Tensor& gradient, Tensor& m, Tensor& v) {
  const at::NoGradGuard no_grad;
  const auto t = static_cast<double>(step.number);
  const double correction1 = 1 - std::pow(c.beta1, t);
  const double root2 = std::sqrt(1 - std::pow(c.beta2, t));
  const Tensor g = gradient * step.gradient_scale;
  m.mul_(c.beta1).add_(g, 1 - c.beta1);
  v.mul_(c.beta2).addcmul_(g, g, 1 - c.beta2);
  const bool fairseq = c.form == run::AdamForm::fairseq;
  const Tensor denominator =
      fairseq ? v.sqrt().div_(root2).add_(c.epsilon / root2) : v.sqrt().div_(root2).add_(c.epsilon);
  values.mul_(1 - step.learning_rate * c.weight_decay);
  values.addcdiv_(m, denominator, -step.learning_rate / correction1);
}

void average(const run::OptimizerConfig& c, int64_t number, const Tensor& values, Tensor& average) {
  const at::NoGradGuard no_grad;
  average.lerp_(values, average_rate(c, number));
}

}  // namespace reference

Optimizer::Optimizer(const run::OptimizerConfig& config, const Tensor& values)
    : config_(config), m_(at::zeros_like(values)), v_(at::zeros_like(values)) {
  if (config.averages()) average_ = values.detach().clone();
}

double Optimizer::reduce(const std::vector<Tensor>& gradients, double scale,
                         const Peers& peers) const {
  if (!gradients[0].is_cpu()) {
    Tensor all = gradients[0];
    for (size_t i = 1; i < gradients.size(); ++i) all.add_(gradients[i]);
    return all.mul_(scale).norm().item<double>();
  }
  std::vector<std::span<float>> spans;
  for (const auto& gradient : gradients) spans.push_back(span(gradient));
  if (peers.size() > 1) {
    peers.add_in_order(spans);
    spans.resize(1);
  }
  return reduce_gradients(spans, scale);
}

void Optimizer::step(Tensor& values, const Tensor& gradient, const AdamStep& step) {
  if (values.is_cpu()) {
    const auto average = average_.defined() ? span(average_) : std::span<float>();
    return adam(config_, step, span(values), span(gradient), span(m_), span(v_), average);
  }
  reference::adam(config_, step, values, gradient, m_, v_);
  if (average_.defined()) reference::average(config_, step.number, values, average_);
}

}  // namespace residual::train
