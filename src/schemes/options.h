#pragma once

#include <string>

#include "base/config.h"

namespace residual::schemes {

// The scheme of a model and what can be chosen about it.
struct Options {
  std::string name = "resi-dual";
  std::string variant;          // of the scheme, as the registry lists them; "" is the first
  double eta = 1;               // resi-dual: scale of the dual stream; 0 is safe_eta's, by depth
  double output_scale = 1;      // resi-dual: of the Post-LN stream in y
  bool dual_from_zero = false;  // resi-dual: d_1 = 0 instead of the embedding
  double alpha = 0;             // deepnorm: gain of the residual; 0 is the paper's, by depth
};

void fields(ConfigVisitor& visit, Options& options);

}  // namespace residual::schemes
