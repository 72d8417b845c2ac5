#include "schemes/options.h"

namespace residual::schemes {

void fields(ConfigVisitor& visit, Options& options) {
  visit("name", options.name, "the residual scheme; `residual schemes` lists them");
  visit("variant", options.variant, "of the scheme, where it has several; empty is the first");
  visit("eta", options.eta,
        "resi-dual: scale of the dual stream; 0 is small enough for float16, by depth (appendix "
        "G.3)",
        {.min = 0});
  visit("output_scale", options.output_scale, "resi-dual: factor on the Post-LN stream in y");
  visit("dual_from_zero", options.dual_from_zero, "resi-dual: d_1 = 0 instead of the embedding");
  visit("alpha", options.alpha, "deepnorm: gain of the residual; 0 is the paper's, by depth",
        {.min = 0});
}

}  // namespace residual::schemes
