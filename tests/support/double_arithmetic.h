#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schemes/scheme.h"

// The plainest arithmetic a scheme can run on: rows of doubles, nothing fused. It is the definition
// that the fast ones are compared with.
namespace residual::test {

struct Rows {
  size_t width = 0;
  std::vector<double> at;  // row by row

  size_t rows() const { return width == 0 ? 0 : at.size() / width; }
};

inline Rows map_rows(const Rows& a, const Rows& b,
                     const std::function<double(double, double)>& op) {
  Rows out = a;
  for (size_t i = 0; i < a.at.size(); ++i) out.at[i] = op(a.at[i], b.at[i]);
  return out;
}

class DoubleArithmetic {
 public:
  using Tensor = Rows;
  using Values = std::shared_ptr<std::vector<double>>;

  struct Vector {
    Values values;
  };
  struct Scalar {
    Values value;
  };
  struct Gates {
    size_t columns = 0;
    std::vector<double> at;  // row by row; one row: of all

    double operator()(size_t row, size_t column) const {
      return at[(row * columns + column) % at.size()];
    }
    size_t rows() const { return at.size() / columns; }
  };
  struct Vectors {
    size_t count;
    Values values;
  };
  struct Numbers {
    Values values;
  };
  struct Norm {
    Values weight, bias;  // bias null: RMSNorm
    double epsilon;

    Rows operator()(const Rows& x) const {
      Rows out = x;
      for (size_t row = 0; row < x.rows(); ++row) {
        double* at = out.at.data() + row * x.width;
        double mean = 0, variance = 0;
        const auto width = static_cast<double>(x.width);
        for (size_t j = 0; j < x.width && bias != nullptr; ++j) mean += at[j] / width;
        for (size_t j = 0; j < x.width; ++j) {
          variance += (at[j] - mean) * (at[j] - mean) / width;
        }
        for (size_t j = 0; j < x.width; ++j) {
          at[j] = (at[j] - mean) / std::sqrt(variance + epsilon) * (*weight)[j];
          if (bias != nullptr) at[j] += (*bias)[j];
        }
      }
      return out;
    }
    Rows add(const Rows& x, const Rows& f) const {
      return (*this)(map_rows(x, f, [](double a, double b) { return a + b; }));
    }
    std::tuple<Rows, Rows> add_both(const Rows& x, const Rows& d, const Rows& f, double eta) const {
      return {add(x, f), map_rows(d, f, [eta](double a, double b) { return a + eta * b; })};
    }
  };

  // `epsilon` is that of all norms; 0: as the scheme says.
  explicit DoubleArithmetic(size_t width, bool has_rms_norms = false, double epsilon = 0)
      : width_(width), has_rms_norms_(has_rms_norms), epsilon_(epsilon) {}

  Norm norm(const std::string& name, double epsilon) {
    return {parameter(name + ".weight", width_, 1),
            has_rms_norms_ ? nullptr : parameter(name + ".bias", width_, 0),
            epsilon_ > 0 ? epsilon_ : epsilon};
  }
  Vector vector(const std::string& name, double value) { return {parameter(name, width_, value)}; }
  Scalar scalar(const std::string& name, double value) { return {parameter(name, 1, value)}; }

  Vectors vectors(const std::string& name, int count, double value) {
    return {static_cast<size_t>(count), parameter(name, count * width_, value)};
  }
  Numbers numbers(const std::string& name, int count, double value) {
    return {parameter(name, static_cast<size_t>(count), value)};
  }

  // By name, as a model's file would list them.
  const std::map<std::string, Values>& parameters() const { return parameters_; }

 private:
  Values parameter(const std::string& name, size_t size, double value) {
    auto made = std::make_shared<std::vector<double>>(size, value);
    if (!parameters_.emplace(name, made).second)
      throw std::logic_error(name + " is declared twice");
    return made;
  }

  size_t width_;
  bool has_rms_norms_;
  double epsilon_;
  std::map<std::string, Values> parameters_;
};

inline Rows add(const Rows& x, const Rows& f) {
  return map_rows(x, f, [](double a, double b) { return a + b; });
}
inline Rows add(const Rows& x, double c, const Rows& f) {
  return map_rows(x, f, [c](double a, double b) { return a + c * b; });
}
inline Rows add(const Rows& x, const DoubleArithmetic::Scalar& c, const Rows& f) {
  return add(x, (*c.value)[0], f);
}
inline Rows scale(const Rows& x, double c) {
  return map_rows(x, x, [c](double a, double) { return c * a; });
}
inline Rows scale(const DoubleArithmetic::Scalar& c, const Rows& x) {
  return scale(x, (*c.value)[0]);
}
inline Rows scale(const DoubleArithmetic::Vector& w, const Rows& x) {
  Rows out = x;
  for (size_t i = 0; i < x.at.size(); ++i) out.at[i] *= (*w.values)[i % x.width];
  return out;
}
using Gates = DoubleArithmetic::Gates;

// Gates [rows, columns] by their places.
inline Gates gates(size_t rows, size_t columns,
                   const std::function<double(size_t, size_t)>& number) {
  Gates out{.columns = columns, .at = std::vector<double>(rows * columns)};
  for (size_t i = 0; i < out.at.size(); ++i) out.at[i] = number(i / columns, i % columns);
  return out;
}
inline Gates dots(const DoubleArithmetic::Vectors& w, const Rows& x) {
  return gates(x.rows(), w.count, [&](size_t row, size_t column) {
    double sum = 0;
    for (size_t j = 0; j < x.width; ++j)
      sum += (*w.values)[column * x.width + j] * x.at[row * x.width + j];
    return sum;
  });
}
inline Gates constant(const DoubleArithmetic::Numbers& b, const std::vector<double>& start) {
  return gates(1, start.size(), [&](size_t, size_t j) { return start[j] + (*b.values)[j]; });
}
inline Gates add(const Gates& g, const Gates& h) {
  return gates(std::max(g.rows(), h.rows()), g.columns,
               [&](size_t row, size_t j) { return g(row, j) + h(row, j); });
}
inline Gates scale(const DoubleArithmetic::Scalar& s, const Gates& g) {
  return gates(g.rows(), g.columns,
               [&](size_t row, size_t j) { return (*s.value)[0] * g(row, j); });
}
inline Gates over_rms(const Gates& g, const std::vector<Rows>& streams, double epsilon) {
  return gates(g.rows(), g.columns, [&](size_t row, size_t j) {
    double sum = 0, count = 0;
    for (const Rows& x : streams) {
      for (size_t d = 0; d < x.width; ++d, ++count)
        sum += x.at[row * x.width + d] * x.at[row * x.width + d];
    }
    return g(row, j) / std::sqrt(sum / count + epsilon);
  });
}
inline Gates columns(const Gates& g, int first, int count) {
  return gates(g.rows(), static_cast<size_t>(count),
               [&](size_t row, size_t j) { return g(row, first + j); });
}
inline Gates join(const std::vector<Gates>& parts) {
  Gates out;
  for (const Gates& part : parts) out.columns += part.columns;
  for (size_t row = 0; row < parts[0].rows(); ++row) {
    for (const Gates& part : parts)
      for (size_t j = 0; j < part.columns; ++j) out.at.push_back(part(row, j));
  }
  return out;
}
inline Gates tanh(const Gates& g) {
  return gates(g.rows(), g.columns, [&](size_t row, size_t j) { return std::tanh(g(row, j)); });
}
inline Gates sigmoid(const Gates& g, double c) {
  return gates(g.rows(), g.columns,
               [&](size_t row, size_t j) { return c / (1 + std::exp(-g(row, j))); });
}
inline Gates softmax(const Gates& g) {
  return gates(g.rows(), g.columns, [&](size_t row, size_t j) {
    double sum = 0;
    for (size_t i = 0; i < g.columns; ++i) sum += std::exp(g(row, i) - g(row, j));
    return 1 / sum;
  });
}
inline Gates sinkhorn(const Gates& g, int iterations) {
  const auto n = static_cast<size_t>(std::lround(std::sqrt(g.columns)));
  Gates m = gates(g.rows(), g.columns, [&](size_t r, size_t j) { return std::exp(g(r, j)); });
  const auto divide = [&](bool by_rows) {
    m = gates(g.rows(), g.columns, [&](size_t row, size_t j) {
      double sum = 0;
      for (size_t i = 0; i < n; ++i) sum += m(row, by_rows ? j / n * n + i : i * n + j % n);
      return m(row, j) / sum;
    });
  };
  for (int i = 0; i < iterations; ++i) {
    divide(false);
    divide(true);
  }
  return m;
}
inline Rows add(const Rows& x, const Gates& g, int column, const Rows& f) {
  Rows out = x;
  for (size_t i = 0; i < x.at.size(); ++i) out.at[i] += g(i / x.width, column) * f.at[i];
  return out;
}
inline Rows mix(const Gates& g, int first, int stride, const std::vector<Rows>& streams) {
  Rows sum{.width = streams[0].width, .at = std::vector<double>(streams[0].at.size())};
  for (size_t t = 0; t < streams.size(); ++t)
    sum = add(sum, g, first + static_cast<int>(t) * stride, streams[t]);
  return sum;
}
inline double variance(const Rows& x) {
  double mean = 0, sum = 0;
  const auto n = static_cast<double>(x.at.size());
  for (const double v : x.at) mean += v / n;
  for (const double v : x.at) sum += (v - mean) * (v - mean) / n;
  return sum;
}
inline void assign(const DoubleArithmetic::Vector& w, double c) { std::ranges::fill(*w.values, c); }

static_assert(schemes::GatedArithmetic<DoubleArithmetic>);

}  // namespace residual::test
