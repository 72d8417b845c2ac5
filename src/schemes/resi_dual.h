#pragma once

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "schemes/choice.h"
#include "schemes/init.h"
#include "schemes/scheme.h"

namespace residual::schemes {

// A scale with which a float16 dual stream cannot overflow: a power of two, so that scaling is
// exact, small enough that embedding and N block outputs, each at most float16's largest number,
// add up to no more than that number. 1 / (N + 2) rounded down: the one addend to spare is for
// rounding.
inline double safe_eta(const Stack& s) { return std::exp2(-std::ceil(std::log2(s.blocks() + 2))); }

// ResiDual: Xie et al. 2023, arXiv:2304.14802, section 2.2.
//
//   x_{k+1} = LN(x_k + f_k(x_k))      what the next block sees, as in Post-LN
//   d_{k+1} = d_k + eta f_k(x_k)      the dual stream; no block ever sees it
//   y       = x_{N+1} + LN(d_{N+1})
//
// The paper leaves d_1 open; the authors' code starts both streams at the embedding, scaled by eta
// for the dual one, and gives the final norm an epsilon of 1e-7. Since LN(eta d) = LN(d) but for
// epsilon, eta only keeps a float16 dual stream from overflowing (appendix G.3). f is one tensor:
// the same dropout reaches both streams.
struct ResiDual {
  static Text text() {
    return {.name = "resi-dual",
            .paper = "Xie et al. 2023, arXiv:2304.14802",
            .equations = {"x' = LN(x + f(x))", "d' = d + eta f(x)", "y = x + LN(d)"},
            .parameters = "2dN + 2d"};
  }

  struct Options {
    double eta = 1;               // scale of the dual stream; 0 is safe_eta's, by depth
    double output_scale = 1;      // of the Post-LN stream in y
    bool dual_from_zero = false;  // d_1 = 0 instead of the embedding

    friend void fields(ConfigVisitor& visit, Options& o) {
      visit("eta", o.eta,
            "scale of the dual stream; 0 is small enough for float16, by depth (appendix G.3)",
            {.min = 0});
      visit("output_scale", o.output_scale, "factor on the Post-LN stream in y");
      visit("dual_from_zero", o.dual_from_zero, "d_1 = 0 instead of the embedding");
    }
  };

  // Blocks see the stream of Post-LN; only the stack's output differs.
  static std::vector<Part> parts(const Options& options) {
    Options dual = options;
    dual.output_scale = 0;
    return {{.stream = "Post-LN", .weight = options.output_scale, .alone = {.name = "post-ln"}},
            {.stream = "dual", .weight = 1, .alone = {.name = "resi-dual", .options = dual}}};
  }

  static Init init(Role role, const Stack&, const Options&) { return init_fairseq(role); }

  template <class A>
  class On final : public Scheme<A> {
   public:
    using Tensor = typename A::Tensor;

    On(A& a, const Stack& stack, const Options& options)
        : norm_(norms(a, stack.blocks())),
          dual_norm_(a.norm("dual_norm", kDualEpsilon)),
          eta_(options.eta > 0 ? options.eta : safe_eta(stack)),
          start_(options.dual_from_zero ? 0 : eta_),
          output_scale_(options.output_scale) {
      require(options.eta >= 0, "eta must not be negative, is {}", options.eta);
    }

    Tensor forward(Tensor x, const Blocks<A>& f) const override {
      Tensor d = scale(x, start_);
      for (int k = 0; k < f.size(); ++k) {
        // NOLINTNEXTLINE(bugprone-use-after-move): d is assigned on the left
        std::tie(x, d) = norm_[k].add_both(x, std::move(d), f(k, x), eta_);
      }
      return add(dual_norm_(d), output_scale_, x);
    }

   private:
    static constexpr double kDualEpsilon = 1e-7;

    std::vector<typename A::Norm> norm_;
    typename A::Norm dual_norm_;
    double eta_, start_, output_scale_;
  };
};

}  // namespace residual::schemes
