#pragma once

#include <cmath>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// tau-ResNet: Zhang et al. 2019, arXiv:1903.07120.
//
//   x_{k+1} = x_k + tau f_k(x_k)      tau = 1 / sqrt(N), N blocks
//   y       = x_{N+1}
struct TauResNet {
  static Text text() {
    return {.name = "tau-resnet",
            .paper = "Zhang et al. 2019, arXiv:1903.07120",
            .equations = {"x' = x + f(x) / sqrt(N)", "y = x"},
            .parameters = "none"};
  }

  using Options = NoOptions;

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A&, const Stack& stack, const Options&) : tau_(1 / std::sqrt(stack.blocks())) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k) x = add(x, tau_, f(k, x));
      return x;
    }

   private:
    double tau_;
  };
};

}  // namespace residual::schemes
