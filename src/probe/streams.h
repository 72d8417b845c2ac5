#pragma once

#include <span>
#include <vector>

#include "probe/trace.h"
#include "schemes/choice.h"
#include "schemes/scheme.h"

// Runs a scheme on given block outputs, which were recorded in a pass or drawn at random. No block
// depends on one above it, so the outputs of a whole stack also serve for its lower part, and for
// another scheme whose blocks saw the same inputs.
namespace residual::probe {

struct StreamSpec {
  schemes::Stack stack;
  schemes::Choice scheme;
  const nn::Parameters* parameters = nullptr;  // norms and weights; null: their initial values
  bool shares = false;                         // whether to measure shares and passes_sum
};

// The share of the block's output in a residual sum: Var[c f_k] / Var[a x_k + c f_k], with the
// scheme's factors; Var is over a row's elements, averaged over rows. Liu et al. 2020
// (arXiv:2004.08249) explain Pre-LN's collapse by the decay of this share with k. There is one
// number for each sum that f_k joins; the stream that blocks see comes first, a
// stream that no block sees second.
using Shares = std::vector<std::vector<double>>;  // [block][sum]

struct StreamRun {
  std::vector<Tensor> inputs;  // the input of each block
  Tensor y;
  Shares shares;
  // Whether the next block's input is exactly the sum of this block's input and output, scaled or
  // normalised. It is false where a scheme combines a layer with several layers below it.
  std::vector<bool> passes_sum;  // [block], except the last
};

// `outputs` are f_1, f_2, ... of whole layers, at most as many as the stack has. Gradients flow
// into all arguments.
StreamRun run_streams(const StreamSpec& spec, const Tensor& embedded,
                      std::span<const Tensor> outputs);

// Returns the output of a scheme for the first `layers` layers of a traced stack. The scheme may
// differ from the traced one if the model has its parameters.
Tensor replay(const nn::Parameters& parameters, const StackTrace& trace,
              const schemes::Choice& scheme, int layers);

// Runs the traced stack again and measures the shares of its blocks.
StreamRun measure_streams(const nn::Parameters& parameters, const StackTrace& trace);

}  // namespace residual::probe
