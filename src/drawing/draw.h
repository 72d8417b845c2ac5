#pragma once

#include <string>

#include "schemes/choice.h"

namespace residual::drawing {

// Draws what a stack of the scheme computes, as SVG, from bottom to top like the paper's figure 1:
// its streams, sums, norms and blocks, and the scheme's equations.
std::string draw(const schemes::Choice& choice, int layers = 2);

}  // namespace residual::drawing
