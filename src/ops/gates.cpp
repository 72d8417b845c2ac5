#include "ops/gates.h"

#include <cmath>

namespace residual::ops {
namespace {

Tensor column_of(const Gates& g, int column) { return g.values.narrow(1, column, 1); }

}  // namespace

Gates dots(const Tensor& w, const Tensor& x) {
  return {at::matmul(x, w.expand({w.size(0), x.size(1)}).t())};
}

Gates constant(const Tensor& b, const std::vector<double>& start) {
  const Tensor numbers =
      at::tensor(start, at::TensorOptions(at::kDouble)).to(b.device(), b.scalar_type());
  return {(numbers + b).unsqueeze(0)};
}

Gates over_rms(const Gates& g, const std::vector<Tensor>& streams, double epsilon) {
  Tensor sum = streams[0].square().mean(1, /*keepdim=*/true);
  for (size_t i = 1; i < streams.size(); ++i) {
    sum = sum + streams[i].square().mean(1, /*keepdim=*/true);
  }
  return {g.values * (sum / static_cast<double>(streams.size()) + epsilon).rsqrt()};
}

Gates add(const Gates& g, const Gates& h) { return {g.values + h.values}; }
Gates columns(const Gates& g, int first, int count) { return {g.values.narrow(1, first, count)}; }

Gates join(const std::vector<Gates>& parts) {
  std::vector<Tensor> all;
  for (const Gates& part : parts) all.push_back(part.values);
  return {at::cat(all, 1)};
}

Gates tanh(const Gates& g) { return {g.values.tanh()}; }
Gates sigmoid(const Gates& g, double c) { return {g.values.sigmoid() * c}; }
Gates softmax(const Gates& g) { return {at::softmax(g.values, 1)}; }

Gates sinkhorn(const Gates& g, int rounds) {
  const auto n = std::lround(std::sqrt(g.values.size(1)));
  Tensor m = g.values.reshape({-1, n, n});
  m = (m - m.amax({1, 2}, /*keepdim=*/true).detach()).exp();  // a factor that rounds divide out
  for (int i = 0; i < rounds; ++i) {
    m = m / m.sum(1, /*keepdim=*/true);
    m = m / m.sum(2, /*keepdim=*/true);
  }
  return {m.reshape({-1, n * n})};
}

Tensor add(const Tensor& x, const Gates& g, int column, const Tensor& f) {
  return at::addcmul(x, column_of(g, column), f);
}

Tensor scale(const Gates& g, int column, const Tensor& x) { return column_of(g, column) * x; }

}  // namespace residual::ops
