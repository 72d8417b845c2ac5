#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/arithmetic.h"
#include "nn/parameters.h"
#include "ops/attention.h"
#include "schemes/scheme.h"

// The blocks f_1 ... f_N of a Transformer. They know nothing of residuals or norms.
namespace residual::nn {

struct Linear {
  Tensor weight, bias;
};

// Self-attention has qkv, cross-attention query and key_value, both output; feed-forward has inner
// and outer.
struct BlockWeights {
  enum class Kind { self_attention, cross_attention, feed_forward };

  Kind kind;
  Linear qkv, query, key_value, output, inner, outer;
};

// Block k of a stack among the model's parameters.
BlockWeights find_block(const Parameters& parameters, schemes::Side side, int k);

// The dropout of each place in a stack, during one pass.
struct BlockDropout {
  ops::Dropout output, attention, activation;
};

// What the blocks of one stack work on during one pass.
struct StackInput {
  const ops::Segments& rows;
  ops::Visibility visibility = ops::Visibility::all;  // of self-attention
  Tensor memory;                                      // the encoder's output, for cross-attention
  const ops::Segments* memory_rows = nullptr;
  int64_t heads = 1;
  std::function<BlockDropout(int k)> dropout;
};

class StackBlocks final : public schemes::Blocks<Arithmetic> {
 public:
  // Both must outlive the object.
  StackBlocks(const std::vector<BlockWeights>& weights, int per_layer, const StackInput& input)
      : Blocks(static_cast<int>(weights.size()), per_layer), weights_(weights), input_(input) {}

  Rows operator()(int k, const Rows& x) const override;

 private:
  const std::vector<BlockWeights>& weights_;
  const StackInput& input_;
};

}  // namespace residual::nn
