#pragma once

#include <cstdint>
#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// mHC (manifold-constrained hyper-connections): Xie et al. 2025, arXiv:2512.24880, section 4. There
// are n streams h_i, each of which starts at the embedding; block k has weights
//
//   p, q, R = RMSNorm(h_1 ... h_n) W_k + B_k, each part times a factor s that starts at 0.01
//   z       = f_k(LN_k(sum_i sigmoid(p_i) h_i))
//   h'_i    = sum_j sinkhorn(R)_ij h_j + 2 sigmoid(q_i) z
//   y       = LN(sum_i h_i)
//
// sinkhorn, 20 rounds on e^R, makes all rows and columns sum to 1. The paper says nothing of how W
// and B start: here W starts at 0, B at 1 for stream k mod n in p and for the diagonal of R and at
// 0 elsewhere, which begins as Pre-LN and lets the streams part. Parameters are what B differs by.
// The sum of the streams is that of Hyper-Connections. Blocks are counted within their stack.
struct Mhc {
  static Text text() {
    return {.name = "mhc",
            .paper = "Xie et al. 2025, arXiv:2512.24880",
            .equations = {"z = f(LN(sum_i sigmoid(p_i) h_i))",
                          "h_i' = sum_j sinkhorn(R)_ij h_j + 2 sigmoid(q_i) z",
                          "p, q, R = s RMSNorm(h) W + B", "y = LN(sum_i h_i)"},
            .parameters = "2dN + 2d + (n(n+2)(nd+1) + 3)N; n streams"};
  }

  struct Options {
    int64_t streams = 4;           // n
    int64_t sinkhorn_rounds = 20;  // t_max

    friend void fields(ConfigVisitor& visit, Options& o) {
      visit("streams", o.streams, "residual streams", {.min = 1, .max = 64});
      visit("sinkhorn_rounds", o.sinkhorn_rounds, "normalisations of the mixing matrix",
            {.min = 1, .max = 1000});
    }
  };

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;
    using Gates = typename A::Gates;

    On(A& a, const Stack& stack, const Options& options)
        : n_(static_cast<int>(options.streams)),
          rounds_(static_cast<int>(options.sinkhorn_rounds)),
          norm_(norms(a, stack.blocks())),
          final_norm_(a.norm("final_norm", kNormEpsilon)) {
      for (int k = 0; k < stack.blocks(); ++k) {
        bias_.push_back(a.numbers(numbered("bias", k), n_ * (n_ + 2), 0));
        gate_.emplace_back();
        for (int i = 0; i < n_; ++i)
          gate_[k].push_back(a.vectors(numbered(numbered("gate", k), i), n_ * (n_ + 2), 0));
        read_scale_.push_back(a.scalar(numbered("read_scale", k), 0.01));
        write_scale_.push_back(a.scalar(numbered("write_scale", k), 0.01));
        mix_scale_.push_back(a.scalar(numbered("mix_scale", k), 0.01));
      }
    }

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      std::vector<Tensor> h(n_, x);
      for (int k = 0; k < f.size(); ++k) {
        const Gates logits = weights(k, h);
        const Gates read = sigmoid(columns(logits, 0, n_), 1);
        const Gates write = sigmoid(columns(logits, n_, n_), 2);
        const Gates mixing = sinkhorn(columns(logits, 2 * n_, n_ * n_), rounds_);
        const Tensor z = f(k, norm_[k](mix(read, 0, 1, h)));
        std::vector<Tensor> next;
        for (int i = 0; i < n_; ++i) next.push_back(add(mix(mixing, i * n_, 1, h), write, i, z));
        h = next;
      }
      for (int i = 1; i < n_; ++i) h[0] = add(h[0], h[i]);
      return final_norm_(h[0]);
    }

   private:
    // p, q, R row by row.
    std::vector<double> start(int k) const {
      std::vector<double> all(n_ * (n_ + 2));
      all[k % n_] = 1;
      for (int i = 0; i < n_; ++i) all[2 * n_ + i * n_ + i] = 1;
      return all;
    }

    Gates weights(int k, const std::vector<Tensor>& h) const {
      Gates g = dots(gate_[k][0], h[0]);
      for (int i = 1; i < n_; ++i) g = add(g, dots(gate_[k][i], h[i]));
      g = over_rms(g, h, kNormEpsilon);
      g = join(std::vector<Gates>{scale(read_scale_[k], columns(g, 0, n_)),
                                  scale(write_scale_[k], columns(g, n_, n_)),
                                  scale(mix_scale_[k], columns(g, 2 * n_, n_ * n_))});
      return add(constant(bias_[k], start(k)), g);
    }

    int n_, rounds_;
    std::vector<typename A::Norm> norm_;
    typename A::Norm final_norm_;
    std::vector<typename A::Numbers> bias_;
    std::vector<std::vector<typename A::Vectors>> gate_;  // by block and stream
    std::vector<typename A::Scalar> read_scale_, write_scale_, mix_scale_;
  };
};

}  // namespace residual::schemes
