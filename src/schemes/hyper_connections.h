#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// Hyper-Connections: Zhu et al. 2024, arXiv:2409.19606, sections 2 and 3, appendix J. There are n
// streams h_i, each of which starts at the embedding; block k has weights a_i, b_i and A_ij:
//
//   z    = f_k(LN_k(sum_i a_i h_i))
//   h'_j = sum_i A_ij h_i + b_j z
//   y    = LN(sum_i h_i)
//
// a starts at the unit vector k mod n, b at ones, A at the identity: a start as Pre-LN. Parameters
// are what the weights differ from it by. Variants:
//   dynamic  weights also differ by row: a_i += s tanh(w_a . LN'_k(h_i)), A_ij += s tanh(w_j .
//   ...),
//            b_i += s' tanh(w_b . ...); all w start at 0, s and s' at 0.01
//   static   weights are the same for all rows
// Blocks are counted within their stack. The paper scales the output matrices of blocks by sqrt(n)
// for the sum of streams to stay as large as one was: it is taken to mean divided.
struct HyperConnections {
  static Text text() {
    return {.name = "hyper-connections",
            .paper = "Zhu et al. 2024, arXiv:2409.19606",
            .variants = {"dynamic", "static"},
            .equations = {"z = f(LN(sum_i a_i h_i))", "h_j' = sum_i A_ij h_i + b_j z",
                          "y = LN(sum_i h_i)"},
            .parameters = "2dN + 2d + n(n+2)N, dynamic: + (d(n+4) + 2)N; n streams"};
  }

  struct Options {
    std::string variant;
    int64_t streams = 4;  // n

    friend void fields(ConfigVisitor& visit, Options& o) {
      visit("streams", o.streams, "residual streams", {.min = 1, .max = 64});
    }
  };

  static Init init(Role role, const Stack&, const Options& options) {
    Init init = init_fairseq(role);
    if (role == Role::output || role == Role::outer)
      init.gain /= std::sqrt(static_cast<double>(options.streams));
    return init;
  }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;
    using Gates = typename A::Gates;

    On(A& a, const Stack& stack, const Options& options)
        : n_(static_cast<int>(options.streams)),
          norm_(norms(a, stack.blocks())),
          final_norm_(a.norm("final_norm", kNormEpsilon)) {
      for (int k = 0; k < stack.blocks(); ++k)
        static_.push_back(a.numbers(numbered("static", k), n_ * (n_ + 2), 0));
      if (options.variant != "dynamic") return;
      gate_norm_ = norms(a, stack.blocks(), "gate_norm");
      for (int k = 0; k < stack.blocks(); ++k) {
        gate_.push_back(a.vectors(numbered("gate", k), n_ + 2, 0));
        input_scale_.push_back(a.scalar(numbered("input_scale", k), 0.01));
        output_scale_.push_back(a.scalar(numbered("output_scale", k), 0.01));
      }
    }

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      std::vector<Tensor> h(n_, x);
      for (int k = 0; k < f.size(); ++k) {
        const Gates g = weights(k, h);
        const Tensor z = f(k, norm_[k](mix(g, 0, n_ + 2, h)));
        std::vector<Tensor> next;
        for (int j = 0; j < n_; ++j)
          next.push_back(add(mix(g, 1 + j, n_ + 2, h), g, (n_ + 2) * (j + 1) - 1, z));
        h = next;
      }
      for (int i = 1; i < n_; ++i) h[0] = add(h[0], h[i]);
      return final_norm_(h[0]);
    }

   private:
    // Of stream i: a_i, A_i1 ... A_in, b_i.
    std::vector<double> start(int k) const {
      std::vector<double> all;
      for (int i = 0; i < n_; ++i) {
        all.push_back(i == k % n_ ? 1 : 0);
        for (int j = 0; j < n_; ++j) all.push_back(i == j ? 1 : 0);
        all.push_back(1);
      }
      return all;
    }

    Gates weights(int k, const std::vector<Tensor>& h) const {
      const Gates same = constant(static_[k], start(k));
      if (gate_.empty()) return same;
      std::vector<Gates> all;
      for (const Tensor& stream : h) {
        const Gates g = tanh(dots(gate_[k], gate_norm_[k](stream)));
        all.push_back(scale(input_scale_[k], columns(g, 0, n_ + 1)));
        all.push_back(scale(output_scale_[k], columns(g, n_ + 1, 1)));
      }
      return add(same, join(all));
    }

    int n_;
    std::vector<typename A::Norm> norm_, gate_norm_;  // the latter: dynamic only
    typename A::Norm final_norm_;
    std::vector<typename A::Numbers> static_;
    std::vector<typename A::Vectors> gate_;
    std::vector<typename A::Scalar> input_scale_, output_scale_;
  };
};

}  // namespace residual::schemes
