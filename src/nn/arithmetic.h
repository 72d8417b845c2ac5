#pragma once

#include <string>
#include <tuple>
#include <utility>

#include "nn/parameters.h"
#include "ops/norm.h"
#include "schemes/scheme.h"

// The arithmetic of schemes/ for training, on autograd tensors.
namespace residual::nn {

// Rows [n, d] whose dropout may still be pending: a block returns its output before dropout, and
// the operator that consumes it applies the dropout in the same pass over memory.
class Rows {
 public:
  Rows() = default;
  Rows(Tensor value) : branch_{std::move(value), {}} {}  // NOLINT(google-explicit-constructor)
  explicit Rows(ops::Branch branch) : branch_(std::move(branch)) {}

  const ops::Branch& branch() const { return branch_; }
  Tensor value() const { return ops::reference::dropout(branch_.f, branch_.dropout); }

 private:
  ops::Branch branch_;
};

class Arithmetic {
 public:
  using Tensor = Rows;

  struct Vector {
    at::Tensor values;
  };
  struct Scalar {
    at::Tensor value;
  };
  struct Norm {
    ops::Affine affine;

    Rows operator()(const Rows& x) const { return ops::norm(x.value(), affine); }
    Rows add(const Rows& x, const Rows& f) const {
      return ops::add_norm(x.value(), f.branch(), affine);
    }
    std::tuple<Rows, Rows> add_both(const Rows& x, const Rows& d, const Rows& f, double eta) const {
      return ops::dual_add_norm(x.value(), d.value(), f.branch(), eta, affine);
    }
  };

  // Finds a scheme's parameters among the model's, by the prefix of their names.
  Arithmetic(const Parameters& parameters, std::string prefix)
      : parameters_(parameters), prefix_(std::move(prefix)) {}

  Norm norm(const std::string& name, double epsilon) const {
    return {{find(name + ".weight"), find(name + ".bias"), epsilon}};
  }
  Vector vector(const std::string& name, double /*value*/) const { return {find(name)}; }
  Scalar scalar(const std::string& name, double /*value*/) const { return {find(name)}; }

 private:
  const at::Tensor& find(const std::string& name) const { return parameters_.at(prefix_ + name); }

  const Parameters& parameters_;
  std::string prefix_;
};

inline Rows add(const Rows& x, double c, const Rows& f) {
  return ops::add(x.value(), c, f.branch());
}
inline Rows add(const Rows& x, const Rows& f) { return add(x, 1, f); }
inline Rows add(const Rows& x, const Arithmetic::Scalar& c, const Rows& f) {
  return x.value() + c.value * f.value();
}
inline Rows scale(const Rows& x, double c) { return c == 1 ? x : Rows(x.value() * c); }
inline Rows scale(const Arithmetic::Scalar& c, const Rows& x) { return c.value * x.value(); }
inline Rows scale(const Arithmetic::Vector& w, const Rows& x) { return w.values * x.value(); }
inline double variance(const Rows& x) { return x.value().var(/*unbiased=*/false).item<double>(); }
inline void assign(const Arithmetic::Vector& w, double c) {
  const at::NoGradGuard no_grad;
  at::Tensor values = w.values;
  values.fill_(c);
}

static_assert(schemes::Arithmetic<Arithmetic>);

}  // namespace residual::nn
