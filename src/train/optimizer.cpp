#include "train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
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

double reduce(const Slices& slices, const Tensor& gradient, double scale, const Peers& peers) {
  Tensor squares = at::zeros({}, gradient.options().dtype(at::kDouble));
  for (size_t b = 0; b < slices.buckets(); ++b) {
    const Slices::Range own = slices.own(b);
    const Tensor part =
        gradient.narrow(0, static_cast<int64_t>(own.begin), static_cast<int64_t>(own.size()));
    part.mul_(scale);
    squares += part.to(at::kDouble).square().sum();
  }
  std::vector<double> all(static_cast<size_t>(peers.size()));
  all[static_cast<size_t>(peers.rank())] = squares.item<double>();
  peers.complete(std::span(all));
  return std::sqrt(std::accumulate(all.begin(), all.end(), 0.0));
}

}  // namespace reference

Optimizer::Optimizer(const run::OptimizerConfig& config, const Slices& slices, const Tensor& values)
    : config_(config), slices_(slices) {
  const auto own = static_cast<int64_t>(slices.own_floats());
  m_ = at::zeros({own}, values.options().requires_grad(false));
  v_ = at::zeros_like(m_);
  if (!config.averages()) return;
  average_ = at::empty_like(m_);
  for (size_t b = 0; b < slices.buckets(); ++b) place(b, average_).copy_(part(b, values.detach()));
}

Tensor Optimizer::part(size_t bucket, const Tensor& flat) const {
  const Slices::Range own = slices_.own(bucket);
  return flat.narrow(0, static_cast<int64_t>(own.begin), static_cast<int64_t>(own.size()));
}

Tensor Optimizer::place(size_t bucket, const Tensor& slices) const {
  return slices.narrow(0, static_cast<int64_t>(slices_.offset(bucket)),
                       static_cast<int64_t>(slices_.own(bucket).size()));
}

double Optimizer::reduce(const std::vector<Tensor>& gradients, double scale,
                         const Peers& peers) const {
  if (!gradients[0].is_cpu() && peers.size() > 1) {
    return reference::reduce(slices_, gradients[0], scale, peers);
  }
  if (!gradients[0].is_cpu()) {
    Tensor all = gradients[0];
    for (size_t i = 1; i < gradients.size(); ++i) all.add_(gradients[i]);
    return all.mul_(scale).norm().item<double>();
  }
  if (peers.size() > 1) return reduce_slices(gradients[0], scale, peers);
  std::vector<std::span<float>> spans;
  for (const auto& gradient : gradients) spans.push_back(span(gradient));
  std::vector<double> squares(piece_count(spans[0].size()));
  reduce_gradients(spans, scale, squares);
  return norm_of(squares);
}

double Optimizer::reduce_slices(const Tensor& gradient, double scale, const Peers& peers) const {
  const std::vector<size_t> ends = slices_.piece_ends(), order = slices_.pieces_by_rank();
  std::vector<double> by_rank(order.size()), squares(order.size());
  const auto rank = static_cast<size_t>(peers.rank());
  auto* to = by_rank.data() + (rank == 0 ? 0 : ends[rank - 1]);
  for (size_t b = 0; b < slices_.buckets(); ++b) {
    const std::vector<std::span<float>> own = {span(part(b, gradient))};
    const size_t pieces = piece_count(own[0].size());
    reduce_gradients(own, scale, {to, pieces});
    to += pieces;
  }
  peers.complete(std::span(by_rank), ends);
  for (size_t i = 0; i < order.size(); ++i) squares[order[i]] = by_rank[i];
  return norm_of(squares);
}

void Optimizer::step(Tensor& values, const Tensor& gradient, const AdamStep& step) {
  if (!values.is_cpu()) {
    const at::NoGradGuard no_grad;
    for (size_t b = 0; b < slices_.buckets(); ++b) {
      Tensor own = part(b, values), m = place(b, m_), v = place(b, v_);
      reference::adam(config_, step, own, part(b, gradient), m, v);
      if (!average_.defined()) continue;
      Tensor average = place(b, average_);
      reference::average(config_, step.number, own, average);
    }
    return;
  }
  for (size_t b = 0; b < slices_.buckets(); ++b) {
    const auto average = average_.defined() ? span(place(b, average_)) : std::span<float>();
    adam(config_, step, span(part(b, values)), span(part(b, gradient)), span(place(b, m_)),
         span(place(b, v_)), average);
  }
}

// It swaps piece by piece, so that validation with the average needs no second copy of the model.
void Optimizer::exchange_average(Tensor& values) {
  if (!average_.defined()) return;
  const at::NoGradGuard no_grad;
  constexpr int64_t kFloats = 1 << 20;
  for (size_t b = 0; b < slices_.buckets(); ++b) {
    const Tensor all = part(b, values), averages = place(b, average_);
    for (int64_t begin = 0; begin < all.numel(); begin += kFloats) {
      const int64_t size = std::min(kFloats, all.numel() - begin);
      const Tensor value = all.narrow(0, begin, size), mean = averages.narrow(0, begin, size);
      const Tensor before = value.clone();
      value.copy_(mean);
      mean.copy_(before);
    }
  }
}

}  // namespace residual::train
