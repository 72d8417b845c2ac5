#pragma once

#include <cmath>
#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// LayerNorm Scaling: Sun et al. 2025, arXiv:2502.05795, section 4.
//
//   x_{k+1} = x_k + f_k(LN_k(x_k) / sqrt(l))      l the layer of block k, from 1
//   y       = LN(x_{N+1})
//
// Layers are counted within their stack; cross-attention is a third block of its layer.
struct LnScaling {
  static Text text() {
    return {.name = "ln-scaling",
            .paper = "Sun et al. 2025, arXiv:2502.05795",
            .equations = {"x' = x + f(LN(x) / sqrt(l)), l the layer", "y = LN(x)"},
            .parameters = "2dN + 2d"};
  }

  using Options = NoOptions;

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options&)
        : norm_(norms(a, stack.blocks())), final_norm_(a.norm("final_norm", kNormEpsilon)) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k)
        x = add(x, f(k, scale(norm_[k](x), 1 / std::sqrt(f.layer(k) + 1))));
      return final_norm_(x);
    }

   private:
    std::vector<typename A::Norm> norm_;
    typename A::Norm final_norm_;
  };
};

}  // namespace residual::schemes
