#include "ops/loss.h"

namespace residual::ops::reference {

LossSums output_loss(const Tensor& y, const Tensor& embedding, const Tensor& targets,
                     const LossSpec& spec) {
  const Tensor logits = at::linear(y, embedding);
  const auto precision = logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const Tensor log_p = at::log_softmax(logits.to(precision), -1);
  const Tensor nll = -log_p.gather(1, targets.unsqueeze(1)).sum();
  const double eps = spec.label_smoothing;
  const auto symbols = static_cast<double>(embedding.size(0));
  const bool others = spec.smoothing == Smoothing::others;
  const double each = others ? eps / (symbols - 1) : eps / symbols;
  const double gold = others ? 1 - eps - each : 1 - eps;
  const Tensor loss = eps == 0 ? nll : nll * gold - log_p.sum() * each;
  return {loss, nll.detach()};
}

}  // namespace residual::ops::reference
