#pragma once

#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// DLCL (dynamic linear combination of layers): Wang et al. 2019, arXiv:1906.01787, section 3.
// Layer l sees a learnt combination of the outputs y_0 (the embedding) ... y_l of those below:
//
//   pre   x = sum_k w_lk z_k,  z_0 = y_0, z_k = LN_k(y_k);  layers are Pre-LN;  y = LN(combination)
//   post  x = LN_l(sum_k w_lk y_k), without LN for l = 0;   layers are Post-LN; y = combination
//
// w_lk starts at 1 / (l + 1), is one number per pair, and is not normalised afterwards.
struct Dlcl {
  static Text text() {
    return {.name = "dlcl",
            .paper = "Wang et al. 2019, arXiv:1906.01787",
            .variants = {"post", "pre"},
            .equations = {"layer input = LN(sum_k w_lk y_k)", "y = LN(sum_k w_Lk y_k)"},
            .parameters = "2dN + 2dL + (L+1)(L+2)/2, pre: + 2d"};
  }

  using Options = VariantOptions;

  static Init init(Role role, const Stack&, const Options&) { return init_xavier(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options& options)
        : pre_(options.variant == "pre"), block_norm_(norms(a, stack.blocks())) {
      for (int l = 0; l <= stack.layers; ++l) {
        w_.emplace_back();
        for (int k = 0; k <= l; ++k)
          w_[l].push_back(a.scalar(numbered(numbered("weight", l), k), 1.0 / (l + 1)));
      }
      for (int l = 1; l <= stack.layers; ++l)
        history_norm_.push_back(a.norm(numbered("history_norm", l), kNormEpsilon));
      if (pre_) final_norm_.push_back(a.norm("final_norm", kNormEpsilon));
    }

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      std::vector<Tensor> history = {x};
      for (int k = 0; k < f.size(); ++k) {
        if (f.opens_layer(k)) x = combination(history);
        x = pre_ ? add(x, f(k, block_norm_[k](x))) : block_norm_[k].add(x, f(k, x));
        if (f.closes_layer(k)) history.push_back(pre_ ? history_norm_[history.size() - 1](x) : x);
      }
      x = combination(history);
      return pre_ ? final_norm_[0](x) : x;
    }

   private:
    Tensor combination(const std::vector<Tensor>& history) const {
      const auto& w = w_[history.size() - 1];
      Tensor sum = scale(w[0], history[0]);
      for (size_t k = 1; k < history.size(); ++k) sum = add(sum, w[k], history[k]);
      const bool normalised = !pre_ && history.size() > 1;
      return normalised ? history_norm_[history.size() - 2](sum) : sum;
    }

    bool pre_;
    std::vector<std::vector<typename A::Scalar>> w_;
    std::vector<typename A::Norm> block_norm_, history_norm_, final_norm_;  // final: none or one
  };
};

}  // namespace residual::schemes
