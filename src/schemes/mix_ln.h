#pragma once

#include <cmath>
#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// Mix-LN: Li et al. 2024, arXiv:2412.13795, section 4.
//
//   x_{k+1} = LN_k(x_k + f_k(x_k))      in the lowest floor(a L) of L layers, as in Post-LN
//   x_{k+1} = x_k + f_k(LN_k(x_k))      in the layers above, as in Pre-LN
//   y       = LN(x_{N+1})
//
// The paper finds a = 0.25 best at most sizes. Each stack has its own share of Post-LN layers.
struct MixLn {
  static Text text() {
    return {.name = "mix-ln",
            .paper = "Li et al. 2024, arXiv:2412.13795",
            .equations = {"x' = LN(x + f(x)) in the lowest a L layers", "x' = x + f(LN(x)) above",
                          "y = LN(x)"},
            .parameters = "2dN + 2d"};
  }

  struct Options {
    double post_share = 0.25;  // a

    friend void fields(ConfigVisitor& visit, Options& o) {
      visit("post_share", o.post_share, "share of the layers, the lowest, that are Post-LN",
            {.min = 0, .max = 1});
    }
  };

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options& options)
        : norm_(norms(a, stack.blocks())),
          final_norm_(a.norm("final_norm", kNormEpsilon)),
          post_layers_(static_cast<int>(std::floor(options.post_share * stack.layers))) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k) {
        const bool post = f.layer(k) < post_layers_;
        x = post ? norm_[k].add(x, f(k, x)) : add(x, f(k, norm_[k](x)));
      }
      return final_norm_(x);
    }

   private:
    std::vector<typename A::Norm> norm_;
    typename A::Norm final_norm_;
    int post_layers_;
  };
};

}  // namespace residual::schemes
