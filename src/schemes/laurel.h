#pragma once

#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// LAuReL-RW: Menghani et al. 2024, arXiv:2411.07501, section 2.1, over Pre-LN blocks.
//
//   x_{k+1} = b_k x_k + a_k f_k(LN_k(x_k))      a_k = b_k = 1 at the start: Pre-LN
//   y       = LN(x_{N+1})
//
// The paper bounds a and b "by softmax or sigmoid" without saying how they start; here they are
// plain numbers.
struct Laurel {
  static Text text() {
    return {.name = "laurel",
            .paper = "Menghani et al. 2024, arXiv:2411.07501",
            .equations = {"x' = b x + a f(LN(x)), a = b = 1 at first", "y = LN(x)"},
            .parameters = "2dN + 2d + 2N"};
  }

  using Options = NoOptions;

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options&)
        : norm_(norms(a, stack.blocks())), final_norm_(a.norm("final_norm", kNormEpsilon)) {
      for (int k = 0; k < stack.blocks(); ++k) {
        a_.push_back(a.scalar(numbered("branch_weight", k), 1));
        b_.push_back(a.scalar(numbered("residual_weight", k), 1));
      }
    }

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k) x = add(scale(b_[k], x), a_[k], f(k, norm_[k](x)));
      return final_norm_(x);
    }

   private:
    std::vector<typename A::Norm> norm_;
    typename A::Norm final_norm_;
    std::vector<typename A::Scalar> a_, b_;
  };
};

}  // namespace residual::schemes
