#pragma once

#include <cmath>
#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// B2T (bottom-to-top connection): Takase et al. 2022, arXiv:2206.00330, section 4.
//
//   x_{k+1} = LN(x_k + f_k(x_k))               within a layer, as in Post-LN
//   x_{k+1} = LN(x_k + f_k(x_k) + x_bottom)    at a layer's last block; x_bottom entered the layer
//   y       = x_{N+1}
//
// The skip passes every norm of its layer but the last. Variants differ in initialisation only:
//   original  June 2022, the one ResiDual's tables compare with
//   scaled    May 2023: every weight matrix of a layer starts smaller by L^(-1/2), L layers
struct B2t {
  static Text text() {
    return {.name = "b2t",
            .paper = "Takase et al. 2022, arXiv:2206.00330",
            .variants = {"original", "scaled"},
            .equations = {"x' = LN(x + f(x))", "x' = LN(x + f(x) + x_bottom) at a layer's top",
                          "y = x"},
            .parameters = "2dN"};
  }

  using Options = VariantOptions;

  static Init init(Role role, const Stack& stack, const Options& options) {
    Init init = init_fairseq(role);
    if (options.variant == "scaled" && role != Role::embedding)
      init.gain /= std::sqrt(stack.layers);
    return init;
  }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options&) : norm_(norms(a, stack.blocks())) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      Tensor bottom = x;
      for (int k = 0; k < f.size(); ++k) {
        if (f.opens_layer(k)) bottom = x;
        const Tensor skip = f.closes_layer(k) ? add(x, bottom) : x;
        x = norm_[k].add(skip, f(k, x));
      }
      return x;
    }

   private:
    std::vector<typename A::Norm> norm_;
  };
};

}  // namespace residual::schemes
