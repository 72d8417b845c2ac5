#pragma once

#include <cstdint>
#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// Attention Residuals: Kimi Team 2026, arXiv:2603.15031, section 3. A block sees a mixture of the
// sources v below it: the embedding v_0 and what blocks gave.
//
//   x_k = sum_i softmax_i(q_k . RMSNorm(v_i)) v_i
//   v_k = f_k(LN_k(x_k))
//   y   = LN(x_{N+1})
//
// The first block sees the embedding. The queries q start at 0, the mixtures as averages. The
// paper's gain of each RMSNorm acts only through its product with q, which is one vector here. With
// group S, its Block AttnRes, the sum of S blocks' outputs is one source, and what a group has so
// far is one for its further blocks. Groups are counted within a stack.
struct AttentionResiduals {
  static Text text() {
    return {.name = "attention-residuals",
            .paper = "Kimi Team 2026, arXiv:2603.15031",
            .equations = {"x = sum_i softmax_i(q . RMSNorm(v_i)) v_i, i below", "v' = f(LN(x))",
                          "y = LN(x)"},
            .parameters = "3dN + 2d"};
  }

  struct Options {
    int64_t group = 1;  // S

    friend void fields(ConfigVisitor& visit, Options& o) {
      visit("group", o.group, "blocks whose outputs are summed to one source", {.min = 1});
    }
  };

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;
    using Gates = typename A::Gates;

    On(A& a, const Stack& stack, const Options& options)
        : norm_(norms(a, stack.blocks())),
          final_norm_(a.norm("final_norm", kNormEpsilon)),
          queries_(a.vectors("queries", stack.blocks(), 0)),
          group_(options.group) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      std::vector<Tensor> sources = {x};
      std::vector<Gates> logits = {of_all_queries(x)};
      for (int k = 0; k < f.size(); ++k) {
        const Tensor z = f(k, norm_[k](mixture(k, sources, logits)));
        if (k % group_ == 0) {
          sources.push_back(z);
          logits.push_back(of_all_queries(sources.back()));
        } else {
          sources.back() = add(sources.back(), z);
          logits.back() = of_all_queries(sources.back());
        }
      }
      return final_norm_(mixture(f.size(), sources, logits));
    }

   private:
    Gates of_all_queries(const Tensor& v) const {
      return over_rms(dots(queries_, v), std::vector<Tensor>{v}, kNormEpsilon);
    }

    Tensor mixture(int k, const std::vector<Tensor>& sources,
                   const std::vector<Gates>& logits) const {
      if (k == 0) return sources[0];
      std::vector<Gates> own;
      for (const Gates& source : logits) own.push_back(columns(source, k - 1, 1));
      return mix(softmax(join(own)), 0, 1, sources);
    }

    std::vector<typename A::Norm> norm_;
    typename A::Norm final_norm_;
    typename A::Vectors queries_;  // of each block but the first, and of the output
    int64_t group_;
  };
};

}  // namespace residual::schemes
