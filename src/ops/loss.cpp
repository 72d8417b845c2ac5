#include "ops/loss.h"

#include <algorithm>
#include <optional>

#include "ops/function.h"
#include "ops/linear_bf16.h"
#include "ops/mode.h"
#include "training_kernels/cross_entropy.h"
#include "training_kernels/epilogue.h"
#include "training_kernels/product.h"

namespace residual::ops {

SmoothedTargets smoothed_targets(const LossSpec& spec, int64_t symbols) {
  const double eps = spec.label_smoothing;
  const auto n = static_cast<double>(symbols);
  if (spec.smoothing == LabelSmoothing::all) return {1 - eps, eps / n};
  const double each = eps / (n - 1);
  return {1 - eps - each, each};
}

namespace reference {

LossSums output_loss(const Tensor& y, const Tensor& embedding, const Tensor& targets,
                     const LossSpec& spec) {
  const Tensor logits = at::linear(y, embedding);
  const auto precision = logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const Tensor log_p = at::log_softmax(logits.to(precision), -1);
  const Tensor nll = -log_p.gather(1, targets.unsqueeze(1)).sum();
  const auto [gold, each] = smoothed_targets(spec, embedding.size(0));
  const Tensor loss = spec.label_smoothing == 0 ? nll : nll * gold - log_p.sum() * each;
  return {loss, nll.detach()};
}

}  // namespace reference
namespace {

using kernels::matrix;
using Rows = kernels::Matrix<const float>;

// Rows whose logits exist at once: enough for efficient products, in at most 16 MB.
int64_t chunk_rows(int64_t symbols) {
  return std::clamp<int64_t>((int64_t{4} << 20) / std::max<int64_t>(symbols, 1), 16, 256);
}

// The products of the output layer for a chunk of rows.
class OutputProducts {
 public:
  OutputProducts(const Tensor& embedding, bool bf16)
      : e_(matrix(values(embedding), embedding.size(0), embedding.size(1))) {
    if (!bf16) return;
    transposed_.emplace(kernels::PackedFactor::of_transposed(operand(embedding)));
    packed_.emplace(kernels::PackedFactor::of(operand(embedding)));
  }

  void logits(const Rows& y, const kernels::Matrix<float>& to) const {
    if (!transposed_) return kernels::product(y, e_, to);
    kernels::multiply(factor(y), *transposed_, nullptr, to);
  }

  void gradients(const Rows& dlogits, const Rows& y, const kernels::Matrix<float>& dy,
                 const kernels::Matrix<float>& dembedding, bool add) const {
    if (!packed_) {
      kernels::input_gradient(dlogits, e_, dy);
      return kernels::weight_gradient(dlogits, y, dembedding, add);
    }
    kernels::multiply(factor(dlogits), *packed_, nullptr, dy);
    kernels::weight_gradient(factor(dlogits), factor(y), dembedding, add);
  }

 private:
  static kernels::Operand factor(const Rows& m) {
    return kernels::operand(m.data, m.rows, m.columns);
  }

  Rows e_;
  std::optional<kernels::PackedFactor> transposed_, packed_;
};

class OutputLoss : public torch::autograd::Function<OutputLoss> {
 public:
  // With `needs_gradient`, the forward pass also computes the gradients for an upstream gradient of
  // 1, because the logits are not kept for a backward pass.
  static variable_list forward(AutogradContext* ctx, const Tensor& y, const Tensor& embedding,
                               const Tensor& targets, const SmoothedTargets& weights,
                               bool needs_gradient, bool bf16) {
    const int64_t rows = y.size(0), width = y.size(1), symbols = embedding.size(0);
    const int64_t chunk = chunk_rows(symbols);
    Tensor logits = at::empty({std::min(chunk, rows), symbols}, y.options());
    Tensor dy, dembedding;
    if (needs_gradient) {
      dy = at::empty(y.sizes(), y.options());
      dembedding = at::empty(embedding.sizes(), y.options());
    }
    const OutputProducts products(embedding, bf16);
    kernels::CrossEntropySums sums;
    for (int64_t begin = 0; begin < rows; begin += chunk) {
      const int64_t count = std::min(chunk, rows - begin);
      const auto part = matrix<const float>(y.data_ptr<float>() + begin * width, count, width);
      const auto scores = matrix(logits.data_ptr<float>(), count, symbols);
      products.logits(part, scores);
      const auto added = kernels::cross_entropy({.rows = count,
                                                 .symbols = symbols,
                                                 .gold = static_cast<float>(weights.gold),
                                                 .each = static_cast<float>(weights.each),
                                                 .targets = targets.data_ptr<int64_t>() + begin,
                                                 .logits = scores.data});
      sums.loss += added.loss;
      sums.nll += added.nll;
      if (!needs_gradient) continue;
      products.gradients(matrix<const float>(scores.data, count, symbols), part,
                         matrix(dy.data_ptr<float>() + begin * width, count, width),
                         matrix(dembedding.data_ptr<float>(), symbols, width),
                         /*add=*/begin > 0);
    }
    if (needs_gradient && rows == 0) dembedding.zero_();
    ctx->save_for_backward({embedding, dy, dembedding});
    const Tensor nll = at::scalar_tensor(sums.nll, at::kDouble);
    ctx->mark_non_differentiable({nll});
    return {at::scalar_tensor(sums.loss, at::kDouble), nll};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& outputs) {
    const auto saved = ctx->get_saved_variables();
    const double upstream = outputs[0].item<double>();
    const Tensor dy = upstream == 1 ? saved[1] : saved[1] * upstream;
    ParameterGradient gradient(saved[0]);
    kernels::accumulate(static_cast<float>(upstream), saved[2].data_ptr<float>(), saved[2].numel(),
                        gradient.data());
    return {dy, gradient.returned(), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

LossSums output_loss(const Tensor& y, const Tensor& embedding, const Tensor& targets,
                     const LossSpec& spec) {
  if (!kernels_fit({y, embedding})) return reference::output_loss(y, embedding, targets, spec);
  const bool needs_gradient =
      at::GradMode::is_enabled() && (y.requires_grad() || embedding.requires_grad());
  const auto sums = OutputLoss::apply(y.contiguous(), embedding.contiguous(), targets.contiguous(),
                                      smoothed_targets(spec, embedding.size(0)), needs_gradient,
                                      products() == Products::bfloat16);
  return {sums[0], sums[1]};
}

}  // namespace residual::ops
