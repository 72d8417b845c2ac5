#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probe/streams.h"

namespace residual::probe {

// Frobenius norms of gradients, by block.
struct BlockGradients {
  std::vector<double> parameters;  // |dL/dw_k|, where w_k are all parameters of f_k
  std::vector<double> outputs;     // |dL/df_k|, which reaches the block
};

// Equation 4: where a stack's output is a sum of streams, y = x_{N+1} + LN(d_{N+1}) in the paper,
// the gradient that enters it comes down through the one or the other. The equation as printed
// leaves out the final norm's Jacobian and takes the wrong blocks into the dual product; here each
// part is what automatic differentiation gives with the others cut at y, so they add up to the
// whole.
struct StreamGradients : BlockGradients {
  std::string stream;
};
struct GradientSplit {
  std::vector<StreamGradients> streams;  // as the scheme's parts(); the last is a pure sum
  // |eta dL/dd|: what the last stream hands on that no block above has touched. The stream is a
  // sum, so it is the same for every block, and all that the last block receives from it.
  double direct = 0;
};

struct StackGradients {
  Side side = Side::encoder;
  BlockGradients total;
  std::optional<GradientSplit> split;  // of schemes with several streams
};

// Returns the norm of the current parameter gradients over each block of a stack.
std::vector<double> block_norms(const nn::Parameters& parameters, Side side);

// Differentiates the mean loss per prediction. `stacks` are the traces of the pass that gave
// `loss`. Overwrites the parameters' gradients.
std::vector<StackGradients> measure_gradients(const nn::Parameters& parameters,
                                              const std::vector<StackTrace>& stacks,
                                              const nn::Loss& loss);

}  // namespace residual::probe
