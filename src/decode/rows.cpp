#include "decode/rows.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace residual::decode {
namespace {

// A matrix of f's shape that may be written while f is read: f's own buffer if nobody else holds
// it (every kernel allows an output that is an input).
Rows over(Rows& f) { return f.is_shared() ? f.like() : std::move(f); }

using Gates = RowArithmetic::Gates;

// Lanes that the compiler can keep in registers; the order of the sum depends on the width alone.
float dot(const float* a, const float* b, int64_t width) {
  constexpr int64_t lanes = 16;
  float sums[lanes] = {};
  int64_t j = 0;
  for (; j + lanes <= width; j += lanes) {
    for (int64_t lane = 0; lane < lanes; ++lane) sums[lane] += a[j + lane] * b[j + lane];
  }
  float sum = 0;
  for (const float each : sums) sum += each;
  for (; j < width; ++j) sum += a[j] * b[j];
  return sum;
}

// y = x + c f; x may be y.
void add_row(const float* x, float c, const float* f, int64_t width, float* y) {
  for (int64_t j = 0; j < width; ++j) y[j] = x[j] + c * f[j];
}

// Divides n numbers, `stride` apart, by their sum.
void divide_by_sum(float* at, int n, int stride) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += at[i * stride];
  for (int i = 0; i < n; ++i) at[i * stride] /= sum;
}

// e^g over e^(largest g of the row), which division by a sum takes out.
void exponentiate(Gates& g) {
  for (auto at = g.values.begin(); at != g.values.end(); at += g.columns) {
    const float largest = *std::max_element(at, at + g.columns);
    std::transform(at, at + g.columns, at, [&](float v) { return std::exp(v - largest); });
  }
}

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

Gates dots(RowArithmetic::Vectors w, const Rows& x) {
  Gates g{.columns = w.count};
  for (int64_t row = 0; row < x.rows(); ++row) {
    for (int64_t j = 0; j < w.count; ++j)
      g.values.push_back(dot(w.values + j * x.width(), x.data() + row * x.width(), x.width()));
  }
  return g;
}

Gates constant(RowArithmetic::Numbers b, const std::vector<double>& start) {
  Gates g{.columns = static_cast<int>(start.size())};
  for (size_t j = 0; j < start.size(); ++j)
    g.values.push_back(static_cast<float>(start[j]) + b.values[j]);
  return g;
}

Gates add(const Gates& g, const Gates& h) {
  Gates sum{.columns = g.columns};
  for (int64_t row = 0; row < std::max(g.rows(), h.rows()); ++row) {
    for (int j = 0; j < g.columns; ++j) sum.values.push_back(g.at(row, j) + h.at(row, j));
  }
  return sum;
}

Gates scale(RowArithmetic::Scalar c, Gates g) {
  for (float& value : g.values) value *= c.value;
  return g;
}

Gates over_rms(Gates g, const std::vector<Rows>& streams, double epsilon) {
  const int64_t width = streams[0].width();
  const auto count = static_cast<float>(width * static_cast<int64_t>(streams.size()));
  for (int64_t row = 0; row < g.rows(); ++row) {
    float sum = 0;
    for (const Rows& x : streams) {
      const float* at = x.data() + row * width;
      sum += dot(at, at, width);
    }
    const float factor = 1 / std::sqrt(sum / count + static_cast<float>(epsilon));
    for (int j = 0; j < g.columns; ++j) g.values[row * g.columns + j] *= factor;
  }
  return g;
}

Gates columns(const Gates& g, int first, int count) {
  Gates some{.columns = count};
  for (int64_t row = 0; row < g.rows(); ++row) {
    const auto at = g.values.begin() + row * g.columns + first;
    some.values.insert(some.values.end(), at, at + count);
  }
  return some;
}

Gates join(const std::vector<Gates>& parts) {
  Gates all;
  for (const Gates& part : parts) all.columns += part.columns;
  for (int64_t row = 0; row < parts[0].rows(); ++row) {
    for (const Gates& part : parts) {
      const auto at = part.values.begin() + row * part.columns;
      all.values.insert(all.values.end(), at, at + part.columns);
    }
  }
  return all;
}

Gates tanh(Gates g) {
  for (float& value : g.values) value = std::tanh(value);
  return g;
}

Gates sigmoid(Gates g, double c) {
  for (float& value : g.values) value = static_cast<float>(c) / (1 + std::exp(-value));
  return g;
}

Gates softmax(Gates g) {
  exponentiate(g);
  for (int64_t row = 0; row < g.rows(); ++row)
    divide_by_sum(g.values.data() + row * g.columns, g.columns, 1);
  return g;
}

Gates sinkhorn(Gates g, int rounds) {
  const auto n = static_cast<int>(std::lround(std::sqrt(g.columns)));
  exponentiate(g);
  for (int64_t row = 0; row < g.rows(); ++row) {
    float* const m = g.values.data() + row * g.columns;
    for (int round = 0; round < rounds; ++round) {
      for (int j = 0; j < n; ++j) divide_by_sum(m + j, n, n);
      for (int i = 0; i < n; ++i) divide_by_sum(m + i * n, n, 1);
    }
  }
  return g;
}

Rows add(const Rows& x, const Gates& g, int column, Rows f) {
  const float* addend = f.data();
  Rows y = over(f);
  const int64_t width = x.width();
  for (int64_t row = 0; row < x.rows(); ++row) {
    const int64_t at = row * width;
    add_row(x.data() + at, g.at(row, column), addend + at, width, y.data() + at);
  }
  return y;
}

Rows mix(const Gates& g, int first, int stride, const std::vector<Rows>& streams) {
  Rows sum = streams[0].like();
  const int64_t width = sum.width();
  for (int64_t row = 0; row < sum.rows(); ++row) {
    float* const y = sum.data() + row * width;
    std::fill_n(y, width, 0.0F);
    int column = first;
    for (const Rows& x : streams) {
      add_row(y, g.at(row, column), x.data() + row * width, width, y);
      column += stride;
    }
  }
  return sum;
}

double variance(const Rows& /*x*/) { fail("a model is calibrated by training, not by decoding"); }
void assign(RowArithmetic::Vector /*w*/, double /*c*/) {
  fail("a model is calibrated by training, not by decoding");
}

}  // namespace residual::decode
