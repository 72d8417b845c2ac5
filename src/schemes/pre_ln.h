#pragma once

#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// Pre-LN: Xiong et al. 2020, arXiv:2002.04745.
//
//   x_{k+1} = x_k + f_k(LN(x_k))
//   y       = LN(x_{N+1})
struct PreLn {
  static Text text() {
    return {.name = "pre-ln",
            .paper = "Xiong et al. 2020, arXiv:2002.04745",
            .equations = {"x' = x + f(LN(x))", "y = LN(x)"},
            .parameters = "2dN + 2d"};
  }

  using Options = NoOptions;

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options&)
        : norm_(norms(a, stack.blocks())), final_norm_(a.norm("final_norm", kNormEpsilon)) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k) x = add(x, f(k, norm_[k](x)));
      return final_norm_(x);
    }

   private:
    std::vector<typename A::Norm> norm_;
    typename A::Norm final_norm_;
  };
};

}  // namespace residual::schemes
