#pragma once

#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// Sandwich: Ding et al. 2021, arXiv:2105.13290, section 2.4.
//
//   x_{k+1} = x_k + c LN'_k(f_k(LN_k(x_k)))
//   y       = LN(x_{N+1})
//
// The paper has c = 1.
struct Sandwich {
  static Text text() {
    return {.name = "sandwich",
            .paper = "Ding et al. 2021, arXiv:2105.13290",
            .equations = {"x' = x + c LN(f(LN(x)))", "y = LN(x)"},
            .parameters = "4dN + 2d"};
  }

  struct Options {
    double branch_scale = 1;  // c

    friend void fields(ConfigVisitor& visit, Options& o) {
      visit("branch_scale", o.branch_scale, "factor on the normalised branch", {.min = 0});
    }
  };

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options& options)
        : norm_(norms(a, stack.blocks())),
          final_norm_(a.norm("final_norm", kNormEpsilon)),
          c_(options.branch_scale) {
      for (int k = 0; k < stack.blocks(); ++k)
        branch_norm_.push_back(a.norm(numbered("branch_norm", k), kNormEpsilon));
    }

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k) x = add(x, c_, branch_norm_[k](f(k, norm_[k](x))));
      return final_norm_(x);
    }

   private:
    std::vector<typename A::Norm> norm_, branch_norm_;
    typename A::Norm final_norm_;
    double c_;
  };
};

}  // namespace residual::schemes
