#pragma once

#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// Peri-LN: Kim et al. 2025, arXiv:2502.02732, section 3.3; the Sandwich-LN of Ding et al. 2021,
// arXiv:2105.13290, section 2.4.
//
//   x_{k+1} = x_k + LN'_k(f_k(LN_k(x_k)))
//   y       = LN(x_{N+1})
//
// The first paper's norm of the embedding is optional there and left out here.
struct PeriLn {
  static Text text() {
    return {.name = "peri-ln",
            .paper = "Kim et al. 2025, arXiv:2502.02732",
            .equations = {"x' = x + LN'(f(LN(x)))", "y = LN(x)"},
            .parameters = "4dN + 2d"};
  }

  using Options = NoOptions;

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options&)
        : norm_(norms(a, stack.blocks())),
          branch_norm_(norms(a, stack.blocks(), "branch_norm")),
          final_norm_(a.norm("final_norm", kNormEpsilon)) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k) x = add(x, branch_norm_[k](f(k, norm_[k](x))));
      return final_norm_(x);
    }

   private:
    std::vector<typename A::Norm> norm_, branch_norm_;
    typename A::Norm final_norm_;
  };
};

}  // namespace residual::schemes
