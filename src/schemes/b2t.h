#pragma once

#include <vector>

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
template <class A>
class B2t final : public Scheme<A> {
 public:
  using Tensor = typename A::Tensor;

  B2t(A& a, const Stack& stack) : norm_(norms(a, stack.blocks())) {}

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

}  // namespace residual::schemes
