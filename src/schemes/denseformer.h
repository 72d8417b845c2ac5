#pragma once

#include <cstdint>
#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// DenseFormer: Pagliardini et al. 2024, arXiv:2402.02622, section 3.
//
//   x_l = layer_l(u_{l-1})                    of Pre-LN blocks; x_0 = u_0, the embedding
//   u_l = sum_j a_lj x_j,  j <= l             depth-weighted average (DWA) after layer l
//   y   = LN(u_L)
//
// a_ll starts at 1 and the others at 0: the stack begins as Pre-LN. With dilation q only the j with
// l - j a multiple of q are summed; with period p there is an average after every p-th layer only.
struct DenseFormer {
  static Text text() {
    return {.name = "denseformer",
            .paper = "Pagliardini et al. 2024, arXiv:2402.02622",
            .equations = {"x' = x + f(LN(x))", "x' = sum_j a_lj x_j after layer l", "y = LN(x)"},
            .parameters = "2dN + 2d + L(L+3)/2"};
  }

  struct Options {
    int64_t dilation = 1, period = 1;

    friend void fields(ConfigVisitor& visit, Options& o) {
      visit("dilation", o.dilation, "an average takes every dilation-th layer below", {.min = 1});
      visit("period", o.period, "an average follows every period-th layer", {.min = 1});
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
          dilation_(options.dilation),
          weight_(stack.layers + 1) {
      for (int64_t l = options.period; l <= stack.layers; l += options.period) {
        for (int64_t j = l % dilation_; j <= l; j += dilation_)
          weight_[l].push_back(a.scalar(numbered(numbered("weight", l), j), j == l ? 1 : 0));
      }
    }

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      std::vector<Tensor> layers = {x};
      for (int k = 0; k < f.size(); ++k) {
        x = add(x, f(k, norm_[k](x)));
        if (!f.closes_layer(k)) continue;
        layers.push_back(x);
        const int l = f.layer(k) + 1;
        if (!weight_[l].empty()) x = average(l, layers);
      }
      return final_norm_(x);
    }

   private:
    Tensor average(int l, const std::vector<Tensor>& layers) const {
      const auto& weight = weight_[l];
      int64_t j = l % dilation_;
      Tensor sum = scale(weight[0], layers[j]);
      for (size_t i = 1; i < weight.size(); ++i) sum = add(sum, weight[i], layers[j += dilation_]);
      return sum;
    }

    std::vector<typename A::Norm> norm_;
    typename A::Norm final_norm_;
    int64_t dilation_;
    std::vector<std::vector<typename A::Scalar>> weight_;  // of the average after layer l, or none
  };
};

}  // namespace residual::schemes
