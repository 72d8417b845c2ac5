#pragma once

#include <array>

namespace residual {

// The symbols that receive the smoothing mass eps, for a vocabulary of V symbols:
//   others   the gold symbol keeps 1 - eps, each other one gets eps / (V - 1): fairseq 0.12
//   all      each gets eps / V, the gold one 1 - eps more: fairseq before February 2021, and so the
//            code of DLCL, T-Fixup, Admin and B2T
enum class LabelSmoothing { others, all };
constexpr auto names(LabelSmoothing) { return std::array{"others", "all"}; }

}  // namespace residual
