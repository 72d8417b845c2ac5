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
  struct Norm {
    Values weight, bias;
    double epsilon;

    Rows operator()(const Rows& x) const {
      Rows out = x;
      for (size_t row = 0; row < x.rows(); ++row) {
        double* at = out.at.data() + row * x.width;
        double mean = 0, variance = 0;
        for (size_t j = 0; j < x.width; ++j) mean += at[j] / static_cast<double>(x.width);
        for (size_t j = 0; j < x.width; ++j) {
          variance += (at[j] - mean) * (at[j] - mean) / static_cast<double>(x.width);
        }
        for (size_t j = 0; j < x.width; ++j) {
          at[j] = (at[j] - mean) / std::sqrt(variance + epsilon) * (*weight)[j] + (*bias)[j];
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

  explicit DoubleArithmetic(size_t width) : width_(width) {}

  Norm norm(const std::string& name, double epsilon) {
    return {parameter(name + ".weight", width_, 1), parameter(name + ".bias", width_, 0), epsilon};
  }
  Vector vector(const std::string& name, double value) { return {parameter(name, width_, value)}; }
  Scalar scalar(const std::string& name, double value) { return {parameter(name, 1, value)}; }

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
inline double variance(const Rows& x) {
  double mean = 0, sum = 0;
  const auto n = static_cast<double>(x.at.size());
  for (const double v : x.at) mean += v / n;
  for (const double v : x.at) sum += (v - mean) * (v - mean) / n;
  return sum;
}
inline void assign(const DoubleArithmetic::Vector& w, double c) { std::ranges::fill(*w.values, c); }

static_assert(schemes::Arithmetic<DoubleArithmetic>);

}  // namespace residual::test
