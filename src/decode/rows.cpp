#include "decode/rows.h"

#include "base/error.h"

namespace residual::decode {
namespace {

// A matrix of f's shape that may be written while f is read: f's own buffer if nobody else holds
// it (every kernel allows an output that is an input).
Rows over(Rows& f) { return f.is_shared() ? f.like() : std::move(f); }

}  // namespace

Rows RowPool::take(int64_t rows) {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Rows::Buffer>(Rows::Buffer{.pool = this}));
    free_.reserve(all_.size());
    free_.push_back(all_.back().get());
  }
  Rows::Buffer* buffer = free_.back();
  free_.pop_back();
  const int64_t size = rows * width_;
  if (buffer->capacity < size) {
    buffer->data = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(size));
    buffer->capacity = size;
  }
  buffer->rows = rows;
  return Rows(buffer);
}

Rows RowArithmetic::Norm::operator()(const Rows& x) const {
  Rows y = x.like();
  kernels::layer_norm(norm_, x.data(), x.rows(), x.width(), y.data());
  return y;
}

Rows RowArithmetic::Norm::add(const Rows& x, Rows f) const {
  const float* addend = f.data();
  Rows y = over(f);
  kernels::add_layer_norm(norm_, x.data(), addend, x.rows(), x.width(), y.data());
  return y;
}

std::tuple<Rows, Rows> RowArithmetic::Norm::add_both(const Rows& x, Rows d, Rows f,
                                                     double eta) const {
  const float *addend = f.data(), *dual = d.data();
  Rows y = over(f);
  Rows sum = over(d);
  kernels::add_both(norm_, x.data(), dual, addend, static_cast<float>(eta), x.rows(), x.width(),
                    y.data(), sum.data());
  return {std::move(y), std::move(sum)};
}

Rows add(const Rows& x, Rows f) {
  const float* addend = f.data();
  Rows y = over(f);
  kernels::add(x.data(), addend, x.size(), y.data());
  return y;
}

Rows add(const Rows& x, double c, Rows f) {
  const float* addend = f.data();
  Rows y = over(f);
  kernels::add_scaled(x.data(), static_cast<float>(c), addend, x.size(), y.data());
  return y;
}

Rows add(const Rows& x, RowArithmetic::Scalar c, Rows f) { return add(x, c.value, std::move(f)); }

Rows scale(const Rows& x, double c) {
  Rows y = x.like();
  kernels::scale(static_cast<float>(c), x.data(), x.size(), y.data());
  return y;
}

Rows scale(RowArithmetic::Scalar c, const Rows& x) { return scale(x, c.value); }

Rows scale(RowArithmetic::Vector w, const Rows& x) {
  Rows y = x.like();
  kernels::scale_columns(w.values, x.data(), x.rows(), x.width(), y.data());
  return y;
}

double variance(const Rows& /*x*/) { fail("a model is calibrated by training, not by decoding"); }
void assign(RowArithmetic::Vector /*w*/, double /*c*/) {
  fail("a model is calibrated by training, not by decoding");
}

}  // namespace residual::decode
