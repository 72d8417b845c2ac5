#pragma once

#include <vector>

#include "schemes/scheme.h"

namespace residual::schemes {

// Post-LN: Vaswani et al. 2017, arXiv:1706.03762, section 3.1.
//
//   x_{k+1} = LN(x_k + f_k(x_k))
//   y       = x_{N+1}
template <class A>
class PostLn final : public Scheme<A> {
 public:
  using Tensor = typename A::Tensor;

  PostLn(A& a, const Stack& stack) : norm_(norms(a, stack.blocks())) {}

  Tensor forward(Tensor x, const Blocks<A>& f) const override {
    for (int k = 0; k < f.size(); ++k) x = norm_[k].add(x, f(k, x));
    return x;
  }

 private:
  std::vector<typename A::Norm> norm_;
};

}  // namespace residual::schemes
