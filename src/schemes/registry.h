#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/suggest.h"
#include "schemes/admin.h"
#include "schemes/b2t.h"
#include "schemes/deepnorm.h"
#include "schemes/dlcl.h"
#include "schemes/init.h"
#include "schemes/post_ln.h"
#include "schemes/pre_ln.h"
#include "schemes/resi_dual.h"
#include "schemes/rezero.h"
#include "schemes/t_fixup.h"
#include "schemes/tau_resnet.h"

namespace residual::schemes {

// One scheme, over one arithmetic.
template <class A>
struct Entry {
  std::string name;
  std::string paper;
  std::vector<std::string> variants;  // the first is the default; empty: there is one form
  std::vector<std::string> equations;
  std::string parameters;  // besides the blocks', for N blocks, L layers, width d
  Init (*init)(Role, const Stack&, const Options&);
  std::unique_ptr<Scheme<A>> (*make)(A&, const Stack&, const Options&);
};

template <class A, template <class> class S>
std::unique_ptr<Scheme<A>> make_scheme(A& a, const Stack& stack, const Options& options) {
  if constexpr (std::is_constructible_v<S<A>, A&, const Stack&, const Options&>) {
    return std::make_unique<S<A>>(a, stack, options);
  } else {
    return std::make_unique<S<A>>(a, stack);
  }
}

// The one list. A scheme that stands here is tested, trainable, decodable, probed and in the study.
template <class A>
const std::vector<Entry<A>>& registry() {
  constexpr auto fairseq = [](Role r, const Stack&, const Options&) { return init_fairseq(r); };
  constexpr auto xavier = [](Role r, const Stack&, const Options&) { return init_xavier(r); };
  constexpr auto t_fixup = [](Role r, const Stack& s, const Options&) {
    return init_t_fixup(r, s);
  };
  static const std::vector<Entry<A>> entries = {
      {"post-ln",
       "Vaswani et al. 2017, arXiv:1706.03762",
       {},
       {"x' = LN(x + f(x))", "y = x"},
       "2dN",
       fairseq,
       make_scheme<A, PostLn>},
      {"pre-ln",
       "Xiong et al. 2020, arXiv:2002.04745",
       {},
       {"x' = x + f(LN(x))", "y = LN(x)"},
       "2dN + 2d",
       fairseq,
       make_scheme<A, PreLn>},
      {"resi-dual",
       "Xie et al. 2023, arXiv:2304.14802",
       {},
       {"x' = LN(x + f(x))", "d' = d + eta f(x)", "y = x + LN(d)"},
       "2dN + 2d",
       fairseq,
       make_scheme<A, ResiDual>},
      {"deepnorm",
       "Wang et al. 2022, arXiv:2203.00555",
       {"paper", "torchscale"},
       {"x' = LN(alpha x + f(x))", "y = x"},
       "2dN",
       init_deepnorm,
       make_scheme<A, DeepNorm>},
      {"admin",
       "Liu et al. 2020, arXiv:2004.08249",
       {"profiled", "log", "constant"},
       {"x' = LN(omega * x + f(x))", "y = x"},
       "3dN",
       xavier,
       make_scheme<A, Admin>},
      {"b2t",
       "Takase et al. 2022, arXiv:2206.00330",
       {"original", "scaled"},
       {"x' = LN(x + f(x))", "x' = LN(x + f(x) + x_bottom) at a layer's top", "y = x"},
       "2dN",
       init_b2t,
       make_scheme<A, B2t>},
      {"dlcl",
       "Wang et al. 2019, arXiv:1906.01787",
       {"post", "pre"},
       {"layer input = LN(sum_k w_lk y_k)", "y = LN(sum_k w_Lk y_k)"},
       "2dN + 2dL + (L+1)(L+2)/2, pre: + 2d",
       xavier,
       make_scheme<A, Dlcl>},
      {"t-fixup",
       "Huang et al. 2020, ICML",
       {},
       {"x' = x + f(x)", "y = x"},
       "none",
       t_fixup,
       make_scheme<A, TFixup>},
      {"rezero",
       "Bachlechner et al. 2020, arXiv:2003.04887",
       {"layer", "block"},
       {"x' = x + a f(x), a = 0 at first", "y = x"},
       "L (block: N)",
       fairseq,
       make_scheme<A, ReZero>},
      {"tau-resnet",
       "Zhang et al. 2019, arXiv:1903.07120",
       {},
       {"x' = x + f(x) / sqrt(N)", "y = x"},
       "none",
       fairseq,
       make_scheme<A, TauResNet>},
  };
  return entries;
}

template <class A>
const Entry<A>& find(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& entry : registry<A>()) {
    if (entry.name == name) return entry;
    known.push_back(entry.name);
  }
  const std::string hint = suggestion(name, known);
  fail("unknown residual scheme \"{}\"{}", name,
       hint.empty() ? "; `residual schemes` lists them" : hint);
}

// The options with the default variant filled in; an Error if the scheme cannot have them.
template <class A>
Options resolve(Options options) {
  const auto& entry = find<A>(options.name);
  if (options.variant.empty() && !entry.variants.empty()) options.variant = entry.variants[0];
  const bool known =
      options.variant.empty() || std::ranges::count(entry.variants, options.variant) > 0;
  require(known, "{}: no variant \"{}\"; it has: {}", options.name, options.variant,
          entry.variants.empty() ? "none" : fmt::format("{}", fmt::join(entry.variants, ", ")));
  const bool is_resi_dual = options.name == "resi-dual";
  require(
      is_resi_dual || (options.eta == 1 && options.output_scale == 1 && !options.dual_from_zero),
      "{}: eta, output_scale and dual_from_zero belong to resi-dual", options.name);
  require(options.name == "deepnorm" || options.alpha == 0, "{}: alpha belongs to deepnorm",
          options.name);
  require(options.eta >= 0, "eta must not be negative, is {}", options.eta);
  return options;
}

template <class A>
std::unique_ptr<Scheme<A>> make(A& a, const Stack& stack, const Options& options) {
  const Options resolved = resolve<A>(options);
  return find<A>(options.name).make(a, stack, resolved);
}

}  // namespace residual::schemes
