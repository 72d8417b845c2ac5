#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// DeepNorm: Wang et al. 2022 (DeepNet), arXiv:2203.00555, section 3.
//
//   x_{k+1} = LN(alpha x_k + f_k(x_k))
//   y       = x_{N+1}
//
// For N encoder and M decoder layers:
//   encoder  alpha = 0.81 (N^4 M)^(1/16)   beta = 0.87 (N^4 M)^(-1/16)
//   decoder  alpha = (3 M)^(1/4)           beta = (12 M)^(-1/4)
//   one stack of N layers alone: alpha = (2 N)^(1/4), beta = (8 N)^(-1/4)
// beta scales the initial value, feed-forward, and output weights.
inline double deepnorm_alpha(const Stack& s) {
  if (s.other_layers == 0) return std::pow(2.0 * s.layers, 0.25);
  if (s.side == Side::decoder) return std::pow(3.0 * s.layers, 0.25);
  return 0.81 * std::pow(std::pow(s.layers, 4) * s.other_layers, 1.0 / 16);
}

inline double deepnorm_beta(const Stack& s) {
  if (s.other_layers == 0) return std::pow(8.0 * s.layers, -0.25);
  if (s.side == Side::decoder) return std::pow(12.0 * s.layers, -0.25);
  return 0.87 * std::pow(std::pow(s.layers, 4) * s.other_layers, -1.0 / 16);
}

struct DeepNorm {
  static Text text() {
    return {.name = "deepnorm",
            .paper = "Wang et al. 2022, arXiv:2203.00555",
            .variants = {"paper", "torchscale"},
            .equations = {"x' = LN(alpha x + f(x))", "y = x"},
            .parameters = "2dN"};
  }

  struct Options {
    std::string variant;
    double alpha = 0;  // gain of the residual; 0 is the paper's, by depth

    friend void fields(ConfigVisitor& visit, Options& o) {
      visit("alpha", o.alpha, "gain of the residual; 0 is the paper's, by depth", {.min = 0});
    }
  };

  static Init init(Role role, const Stack& stack, const Options& options) {
    if (options.variant == "torchscale") {
      // Microsoft's torchscale divides by X / 1.15 in the encoder, X = (N^4 M)^(1/16), where the
      // paper's 0.87 / X means 1.15 X; the decoder agrees with the paper. Biases are scaled too.
      Init init = init_fairseq(role);
      const bool inverted = stack.side == Side::encoder && stack.other_layers > 0;
      const double factor = deepnorm_beta(stack) * (inverted ? 1.15 / 0.87 : 1);
      if (is_on_the_value_path(role)) {
        init.gain *= factor;
        init.bias_gain *= factor;
      }
      return init;
    }
    if (role == Role::embedding) return {.law = Law::normal_width};
    return {.law = Law::xavier_normal,
            .gain = is_on_the_value_path(role) ? deepnorm_beta(stack) : 1};
  }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options& options)
        : norm_(norms(a, stack.blocks())),
          alpha_(options.alpha > 0 ? options.alpha : deepnorm_alpha(stack)) {}

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      for (int k = 0; k < f.size(); ++k) x = norm_[k].add(scale(x, alpha_), f(k, x));
      return x;
    }

   private:
    std::vector<typename A::Norm> norm_;
    double alpha_;
  };
};

}  // namespace residual::schemes
