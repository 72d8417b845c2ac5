#pragma once

#include <cmath>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// T-Fixup: Huang et al. 2020, section 4. All of it is in the initialisation.
//
//   x_{k+1} = x_k + f_k(x_k)
//   y       = x_{N+1}
//
// For stacks of N layers, values, feed-forward and output weights start Xavier times
//   encoder 0.67 N^(-1/4)      decoder (9 N)^(-1/4)
// and embeddings times (9 N)^(-1/4), as in the authors' fixup_initialization.
struct TFixup {
  static Text text() {
    return {.name = "t-fixup",
            .paper = "Huang et al. 2020, ICML",
            .equations = {"x' = x + f(x)", "y = x"},
            .parameters = "none"};
  }

  using Options = NoOptions;

  static Init init(Role role, const Stack& stack, const Options&) {
    const double decoder = std::pow(9.0 * stack.layers, -0.25);
    const double factor =
        stack.side == Side::encoder ? 0.67 * std::pow(stack.layers, -0.25) : decoder;
    Init init = init_xavier(role);
    if (role == Role::value) init.gain = 1;
    if (role == Role::embedding) init.gain = decoder;
    if (is_on_the_value_path(role)) init.gain *= factor;
    return init;
  }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A&, const Stack&, const Options&) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k) x = add(x, f(k, x));
      return x;
    }
  };
};

}  // namespace residual::schemes
