#pragma once

#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// Keel: Chen and Wei 2026, arXiv:2601.19895.
//
//   x_{k+1} = LN_k(alpha x_k + f_k(LN'_k(x_k)))      alpha = N, the blocks of the stack
//   y       = x_{N+1}
//
// The paper's L is the number of attention and feed-forward blocks of its only stack; here it is
// that of the stack, cross-attention included.
struct Keel {
  static Text text() {
    return {.name = "keel",
            .paper = "Chen and Wei 2026, arXiv:2601.19895",
            .equations = {"x' = LN(alpha x + f(LN'(x))), alpha = N", "y = x"},
            .parameters = "4dN"};
  }

  struct Options {
    double highway = 0;  // alpha

    friend void fields(ConfigVisitor& visit, Options& o) {
      visit("highway", o.highway, "gain alpha of the residual; 0 is the number of blocks",
            {.min = 0});
    }
  };

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options& options)
        : norm_(norms(a, stack.blocks())),
          branch_norm_(norms(a, stack.blocks(), "branch_norm")),
          alpha_(options.highway > 0 ? options.highway : stack.blocks()) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k)
        x = norm_[k].add(scale(x, alpha_), f(k, branch_norm_[k](x)));
      return x;
    }

   private:
    std::vector<typename A::Norm> norm_, branch_norm_;
    double alpha_;
  };
};

}  // namespace residual::schemes
