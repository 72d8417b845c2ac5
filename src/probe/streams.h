#pragma once

#include <span>
#include <vector>

#include "probe/trace.h"
#include "schemes/choice.h"
#include "schemes/scheme.h"

// A scheme run on block outputs that are given: recorded in a pass, or drawn at random. No block
// depends on one above it, so the outputs of a whole stack also serve for its lower part, and for
// another scheme whose blocks saw the same.
namespace residual::probe {

struct StreamSpec {
  schemes::Stack stack;
  schemes::Choice scheme;
  const nn::Parameters* parameters = nullptr;  // of norms and weights; null: as they start
  bool shares = false;                         // whether to measure them, and what passes on
};

// How much of a residual sum is the block's own output: Var[c f_k] / Var[a x_k + c f_k], with the
// factors the scheme gives them; Var over a row's elements, averaged over rows. Liu et al. 2020
// (arXiv:2004.08249) explain Pre-LN's collapse by its decay with k. One number for each sum that
// f_k joins, the stream that blocks see first: a stream that no block sees comes
// second.
using Shares = std::vector<std::vector<double>>;  // [block][sum]

struct StreamRun {
  std::vector<Tensor> inputs;  // what each block sees
  Tensor y;
  Shares shares;
  // Whether the block above sees the sum of what this one saw and gave, scaled or normalised, and
  // nothing else. Not so where a scheme joins a layer with those below it.
  std::vector<bool> passes_sum;  // [block], but for the last
};

// `outputs` are f_1, f_2, ... of whole layers, as many as the stack has or fewer. Gradients flow
// into all that is given.
StreamRun run_streams(const StreamSpec& spec, const Tensor& embedded,
                      std::span<const Tensor> outputs);

// The output that a scheme makes of the first `layers` layers of a traced stack. It may be another
// scheme than the traced one if the model has its parameters.
Tensor replay(const nn::Parameters& parameters, const StackTrace& trace,
              const schemes::Choice& scheme, int layers);

// The traced stack again, with the shares of its blocks.
StreamRun measure_streams(const nn::Parameters& parameters, const StackTrace& trace);

}  // namespace residual::probe
