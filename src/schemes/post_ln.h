#pragma once

#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// Post-LN: Vaswani et al. 2017, arXiv:1706.03762, section 3.1.
//
//   x_{k+1} = LN(x_k + f_k(x_k))
//   y       = x_{N+1}
struct PostLn {
  static Text text() {
    return {.name = "post-ln",
            .paper = "Vaswani et al. 2017, arXiv:1706.03762",
            .equations = {"x' = LN(x + f(x))", "y = x"},
            .parameters = "2dN"};
  }

  using Options = NoOptions;

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options&) : norm_(norms(a, stack.blocks())) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k) x = norm_[k].add(x, f(k, x));
      return x;
    }

   private:
    std::vector<typename A::Norm> norm_;
  };
};

}  // namespace residual::schemes
