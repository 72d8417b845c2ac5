#include "ops/loss.h"

#include <algorithm>

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

using kernels::matrix, kernels::Matrix;

// Rows whose logits exist at once: enough for efficient products, in at most 16 MB.
int64_t chunk_rows(int64_t symbols) {
  return std::clamp<int64_t>((int64_t{4} << 20) / std::max<int64_t>(symbols, 1), 16, 256);
}

// One pass over all rows. dy and dembedding are undefined if no gradient is needed.
struct Pass {
  const Tensor &y, &embedding, &targets;
  const SmoothedTargets& weights;
  Tensor dy, dembedding;

  int64_t rows() const { return y.size(0); }
  int64_t symbols() const { return embedding.size(0); }
  bool needs_gradient() const { return dy.defined(); }
  Matrix<float> gradient() const {
    return matrix(dembedding.data_ptr<float>(), symbols(), y.size(1));
  }
  Matrix<float> part(const Tensor& t, int64_t begin, int64_t count) const {
    return matrix(t.data_ptr<float>() + begin * y.size(1), count, y.size(1));
  }

  // Adds the loss of some rows to sums.
  void cross_entropy(int64_t begin, const Matrix<float>& logits, kernels::Bf16* to,
                     kernels::CrossEntropySums& sums) const {
    const auto added = kernels::cross_entropy({.rows = logits.rows,
                                               .symbols = symbols(),
                                               .gold = static_cast<float>(weights.gold),
                                               .each = static_cast<float>(weights.each),
                                               .targets = targets.data_ptr<int64_t>() + begin,
                                               .logits = logits.data,
                                               .gradient = to});
    sums.loss += added.loss;
    sums.nll += added.nll;
  }
};

Matrix<const float> read(const Matrix<float>& m) { return {m.data, m.rows, m.columns, m.stride}; }

kernels::CrossEntropySums run_fp32(const Pass& p) {
  const int64_t chunk = chunk_rows(p.symbols());
  const Tensor logits = at::empty({std::min(chunk, p.rows()), p.symbols()}, p.y.options());
  const auto e = matrix<const float>(values(p.embedding), p.symbols(), p.y.size(1));
  kernels::CrossEntropySums sums;
  for (int64_t begin = 0; begin < p.rows(); begin += chunk) {
    const int64_t count = std::min(chunk, p.rows() - begin);
    const auto y = read(p.part(p.y, begin, count));
    const auto scores = matrix(logits.data_ptr<float>(), count, p.symbols());
    kernels::product(y, e, scores);
    p.cross_entropy(begin, scores, nullptr, sums);
    if (!p.needs_gradient()) continue;
    kernels::input_gradient(read(scores), e, p.part(p.dy, begin, count));
    kernels::weight_gradient(read(scores), y, p.gradient(), /*add=*/begin > 0);
  }
  return sums;
}

// Keeps the gradients of twice as many logits in bfloat16; only a few rows exist in float32.
kernels::CrossEntropySums run_bf16(const Pass& p) {
  constexpr int64_t kFew = 48;
  const int64_t chunk = 2 * chunk_rows(p.symbols());
  const auto transposed = kernels::PackedFactor::of_transposed(operand(p.embedding));
  const auto packed = kernels::PackedFactor::of(operand(p.embedding));
  const Tensor logits = at::empty({std::min(kFew, p.rows()), p.symbols()}, p.y.options());
  const Tensor gradients =
      at::empty({std::min(chunk, p.rows()), p.symbols()}, p.y.options().dtype(at::kBFloat16));
  kernels::CrossEntropySums sums;
  for (int64_t begin = 0; begin < p.rows(); begin += chunk) {
    const int64_t count = std::min(chunk, p.rows() - begin);
    const kernels::Operand y = operand(p.y).part(begin, count);
    for (int64_t row = 0; row < count; row += kFew) {
      const int64_t few = std::min(kFew, count - row);
      const auto scores = matrix(logits.data_ptr<float>(), few, p.symbols());
      kernels::multiply(y.part(row, few), transposed, nullptr, scores);
      p.cross_entropy(begin + row, scores, halves(gradients) + row * p.symbols(), sums);
    }
    if (!p.needs_gradient()) continue;
    const kernels::Operand scores = operand(gradients).part(0, count);
    kernels::multiply(scores, packed, nullptr, p.part(p.dy, begin, count));
    kernels::weight_gradient(scores, y, p.gradient(), /*add=*/begin > 0);
  }
  return sums;
}

class OutputLoss : public torch::autograd::Function<OutputLoss> {
 public:
  // With `needs_gradient`, the forward pass also computes the gradients for an upstream gradient of
  // 1, because the logits are not kept for a backward pass.
  static variable_list forward(AutogradContext* ctx, const Tensor& y, const Tensor& embedding,
                               const Tensor& targets, const SmoothedTargets& weights,
                               bool needs_gradient, bool bf16) {
    Pass p{y, embedding, targets, weights, {}, {}};
    if (needs_gradient) {
      p.dy = at::empty(y.sizes(), y.options());
      p.dembedding = at::empty(embedding.sizes(), y.options());
    }
    const kernels::CrossEntropySums sums = bf16 ? run_bf16(p) : run_fp32(p);
    if (needs_gradient && p.rows() == 0) p.dembedding.zero_();
    ctx->save_for_backward({embedding, p.dy, p.dembedding});
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
