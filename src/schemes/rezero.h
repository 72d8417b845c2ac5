#pragma once

#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// ReZero: Bachlechner et al. 2020, arXiv:2003.04887, section 3.
//
//   x_{k+1} = x_k + a_l f_k(x_k)      a_l = 0 at the start: the stack begins as the identity
//   y       = x_{N+1}
//
// Variants: one a per "layer", shared by its blocks (the authors' code), or per "block".
struct ReZero {
  static Text text() {
    return {.name = "rezero",
            .paper = "Bachlechner et al. 2020, arXiv:2003.04887",
            .variants = {"layer", "block"},
            .equations = {"x' = x + a f(x), a = 0 at first", "y = x"},
            .parameters = "L (block: N)"};
  }

  using Options = VariantOptions;

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options& options)
        : sharing_(options.variant == "block" ? 1 : stack.blocks_per_layer) {
      for (int i = 0; i < stack.blocks() / sharing_; ++i)
        a_.push_back(a.scalar(numbered("alpha", i), 0));
    }

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k) x = add(x, a_[k / sharing_], f(k, x));
      return x;
    }

   private:
    int sharing_;
    std::vector<typename A::Scalar> a_;
  };
};

}  // namespace residual::schemes
