#pragma once

#include <cmath>
#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// SiameseNorm: Li et al. 2026, arXiv:2602.08064, section 4, as in the authors' model of DeiT.
//
//   u       = LN_k(x_k)                         the stream of Post-LN
//   z       = f_k(LN''_k(u + LN'_k(d_k)))       d, the stream of Pre-LN, is seen by blocks too
//   x_{k+1} = u + z / c                         c = sqrt(blocks of this and the lower layers)
//   d_{k+1} = d_k + z
//   y       = LN''(LN(x_{N+1}) + LN'(d_{N+1}))
//
// Both streams start at the embedding. The authors' layers have two blocks, and their c is
// sqrt(2 l) for layer l, from 1; with cross-attention it is sqrt(3 l).
struct SiameseNorm {
  static Text text() {
    return {.name = "siamese-norm",
            .paper = "Li et al. 2026, arXiv:2602.08064",
            .equations = {"z = f(LN''(LN(x) + LN'(d)))", "x' = LN(x) + z / sqrt(blocks so far)",
                          "d' = d + z", "y = LN''(LN(x) + LN'(d))"},
            .parameters = "6dN + 6d"};
  }

  using Options = NoOptions;

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    // The norms after the blocks' are those of the output.
    On(A& a, const Stack& stack, const Options&)
        : norm_(norms(a, stack.blocks() + 1)),
          dual_norm_(norms(a, stack.blocks() + 1, "dual_norm")),
          input_norm_(norms(a, stack.blocks() + 1, "input_norm")) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      Tensor d = x;
      for (int k = 0; k < f.size(); ++k) {
        const Tensor u = norm_[k](x), z = f(k, input_norm_[k].add(u, dual_norm_[k](d)));
        x = add(u, 1 / std::sqrt((f.layer(k) + 1) * f.per_layer()), z);
        d = add(d, z);
      }
      return input_norm_.back().add(norm_.back()(x), dual_norm_.back()(d));
    }

   private:
    std::vector<typename A::Norm> norm_, dual_norm_, input_norm_;
  };
};

}  // namespace residual::schemes
