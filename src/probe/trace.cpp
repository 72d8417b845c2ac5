#include "probe/trace.h"

namespace residual::probe {

void Tracer::embedded(Side side, const Tensor& x) {
  stacks_.push_back(
      {.side = side, .per_layer = model::stack(config_, side).blocks_per_layer, .embedded = x});
}

void Tracer::block(Side, int, const Tensor& input, const Tensor& output) {
  stacks_.back().inputs.push_back(input);
  stacks_.back().outputs.push_back(output);
}

void Tracer::stack(Side, const Tensor& y) { stacks_.back().y = y; }

}  // namespace residual::probe
