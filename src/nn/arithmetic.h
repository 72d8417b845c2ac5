#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "nn/parameters.h"
#include "ops/gates.h"
#include "ops/norm.h"
#include "schemes/scheme.h"

// The arithmetic of schemes/ for training, on autograd tensors.
namespace residual::nn {

// Rows [n, d] whose dropout may still be pending: a block returns its output before dropout, and
// the operator that consumes it applies the dropout in the same pass over memory.
class LazyRows {
 public:
  LazyRows() = default;
  LazyRows(Tensor value) : branch_{std::move(value), {}} {}  // NOLINT(google-explicit-constructor)
  explicit LazyRows(ops::Branch branch) : branch_(std::move(branch)) {}

  const ops::Branch& branch() const { return branch_; }
  // With its dropout, which is applied at the first call.
  const Tensor& value() const {
    if (!value_.defined()) value_ = ops::reference::dropout(branch_.f, branch_.dropout);
    return value_;
  }

 private:
  ops::Branch branch_;
  mutable Tensor value_;
};

inline std::vector<Tensor> values_of(const std::vector<LazyRows>& streams) {
  std::vector<Tensor> all;
  for (const LazyRows& x : streams) all.push_back(x.value());
  return all;
}

class Arithmetic {
 public:
  using Tensor = LazyRows;

  struct Vector {
    at::Tensor values;
  };
  struct Scalar {
    at::Tensor value;
  };
  struct Vectors {
    at::Tensor values;  // [m, d]
  };
  struct Numbers {
    at::Tensor values;
  };
  using Gates = ops::Gates;
  struct Norm {
    ops::Affine affine;

    LazyRows operator()(const LazyRows& x) const { return ops::norm(x.value(), affine); }
    LazyRows add(const LazyRows& x, const LazyRows& f) const {
      return ops::add_norm(x.value(), f.branch(), affine);
    }
    std::tuple<LazyRows, LazyRows> add_both(const LazyRows& x, const LazyRows& d, const LazyRows& f,
                                            double eta) const {
      return ops::dual_add_norm(x.value(), d.value(), f.branch(), eta, affine);
    }
  };

  // Finds a scheme's parameters among the model's, by the prefix of their names.
  Arithmetic(const Parameters& parameters, std::string prefix)
      : parameters_(parameters), prefix_(std::move(prefix)) {}

  Norm norm(const std::string& name, double epsilon) const {
    return {find_norm(parameters_, prefix_ + name, epsilon)};
  }
  Vector vector(const std::string& name, double /*value*/) const { return {find(name)}; }
  Scalar scalar(const std::string& name, double /*value*/) const { return {find(name)}; }
  Vectors vectors(const std::string& name, int count, double /*value*/) const {
    return {find(name).view({count, -1})};
  }
  Numbers numbers(const std::string& name, int /*count*/, double /*value*/) const {
    return {find(name)};
  }

 private:
  const at::Tensor& find(const std::string& name) const { return parameters_.at(prefix_ + name); }

  const Parameters& parameters_;
  std::string prefix_;
};

inline LazyRows add(const LazyRows& x, double c, const LazyRows& f) {
  return ops::add(x.value(), c, f.branch());
}
inline LazyRows add(const LazyRows& x, const LazyRows& f) { return add(x, 1, f); }
inline LazyRows add(const LazyRows& x, const Arithmetic::Scalar& c, const LazyRows& f) {
  return x.value() + c.value * f.value();
}
inline LazyRows scale(const LazyRows& x, double c) { return c == 1 ? x : LazyRows(x.value() * c); }
inline LazyRows scale(const Arithmetic::Scalar& c, const LazyRows& x) {
  return c.value * x.value();
}
inline LazyRows scale(const Arithmetic::Vector& w, const LazyRows& x) {
  return w.values * x.value();
}
inline ops::Gates dots(const Arithmetic::Vectors& w, const LazyRows& x) {
  return ops::dots(w.values, x.value());
}
inline ops::Gates constant(const Arithmetic::Numbers& b, const std::vector<double>& start) {
  return ops::constant(b.values, start);
}
inline ops::Gates scale(const Arithmetic::Scalar& c, const ops::Gates& g) {
  return {c.value * g.values};
}
inline ops::Gates over_rms(const ops::Gates& g, const std::vector<LazyRows>& streams,
                           double epsilon) {
  return ops::over_rms(g, values_of(streams), epsilon);
}
inline LazyRows add(const LazyRows& x, const ops::Gates& g, int column, const LazyRows& f) {
  return ops::add(x.value(), g, column, f.value());
}
inline LazyRows mix(const ops::Gates& g, int first, int stride,
                    const std::vector<LazyRows>& streams) {
  Tensor sum = ops::scale(g, first, streams[0].value());
  for (size_t i = 1; i < streams.size(); ++i)
    sum = ops::add(sum, g, first + static_cast<int>(i) * stride, streams[i].value());
  return sum;
}
inline double variance(const LazyRows& x) {
  return x.value().var(/*unbiased=*/false).item<double>();
}
inline void assign(const Arithmetic::Vector& w, double c) {
  const at::NoGradGuard no_grad;
  at::Tensor values = w.values;
  values.fill_(c);
}

static_assert(schemes::GatedArithmetic<Arithmetic>);

}  // namespace residual::nn
