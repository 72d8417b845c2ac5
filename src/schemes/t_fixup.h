#pragma once

#include "schemes/scheme.h"

namespace residual::schemes {

// T-Fixup: Huang et al. 2020, section 4. All of it is in the initialisation (see init.h).
//
//   x_{k+1} = x_k + f_k(x_k)
//   y       = x_{N+1}
template <class A>
class TFixup final : public Scheme<A> {
 public:
  using Tensor = typename A::Tensor;

  TFixup(A&, const Stack&) {}

  Tensor forward(Tensor x, const Blocks<A>& f) const override {
    for (int k = 0; k < f.size(); ++k) x = add(x, f(k, x));
    return x;
  }
};

}  // namespace residual::schemes
