#pragma once

#include <cmath>
#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// Admin: Liu et al. 2020, arXiv:2004.08249, section 4.
//
//   x_{k+1} = LN(omega_k * x_k + f_k(x_k))     omega_k a learnable vector
//   y       = x_{N+1}
//
// Variants, by how the omegas start, all elements of one being equal:
//   profiled  from one batch: omega_1 = 1, omega_{k+1}^2 = Var[omega_k x_k] + Var[f_k(x_k)]
//   log       sqrt((N + 1) / ln(N + 1) - 1): the authors' later admin-torch
//   constant  sqrt(N): the same, for outputs that change by O(1) instead of O(log N)
struct Admin {
  static Text text() {
    return {.name = "admin",
            .paper = "Liu et al. 2020, arXiv:2004.08249",
            .variants = {"profiled", "log", "constant"},
            .equations = {"x' = LN(omega * x + f(x))", "y = x"},
            .parameters = "3dN"};
  }

  using Options = VariantOptions;

  static Init init(Role role, const Stack&, const Options&) { return init_xavier(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options& options)
        : norm_(norms(a, stack.blocks())), profiled_(options.variant == "profiled") {
      const double n = stack.blocks();
      double omega = 1;
      if (options.variant == "log") omega = std::sqrt((n + 1) / std::log(n + 1) - 1);
      if (options.variant == "constant") omega = std::sqrt(n);
      for (int k = 0; k < stack.blocks(); ++k)
        omega_.push_back(a.vector(numbered("omega", k), omega));
    }

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k) x = norm_[k].add(scale(omega_[k], x), f(k, x));
      return x;
    }

    bool calibrates() const override { return profiled_; }

    void calibrate(const Tensor& input, const Blocks<A>& f) override {
      if (!profiled_) return;
      double omega = 1;
      Tensor x = input;
      for (int k = 0; k < f.size(); ++k) {
        assign(omega_[k], omega);
        const Tensor skip = scale(omega_[k], x), fx = f(k, x);
        omega = std::sqrt(variance(skip) + variance(fx));
        x = norm_[k].add(skip, fx);
      }
    }

   private:
    std::vector<typename A::Norm> norm_;
    std::vector<typename A::Vector> omega_;
    bool profiled_;
  };
};

}  // namespace residual::schemes
