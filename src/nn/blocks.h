#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "nn/arithmetic.h"
#include "nn/parameters.h"
#include "ops/attention.h"
#include "schemes/scheme.h"

// The blocks f_1 ... f_N of a Transformer, without residual connections and norms.
namespace residual::nn {

struct Linear {
  Tensor weight, bias;  // bias: zeros without a gradient if the model has none
};

// The weights of a block. Self-attention has qkv and output; cross-attention has query, key_value
// and output; feed-forward has inner and outer.
struct BlockWeights {
  enum class Kind { self_attention, cross_attention, feed_forward };

  Kind kind;
  Linear qkv, query, key_value, output, inner, outer;
};

// Finds a matrix and its bias by the name they share.
Linear find_linear(const Parameters& parameters, const std::string& name);
// Finds block k of a stack among the model's parameters.
BlockWeights find_block(const Parameters& parameters, schemes::Side side, int k);

// What decides how blocks compute besides their weights.
struct BlockForm {
  int64_t heads = 1, kv_heads = 1;
  model::Activation activation = model::Activation::relu;
  bool gated = false;
};
BlockForm block_form(const model::Config& config);
// The rotations of all places, [max_positions, head width] (ops/heads.h), of the type of `like`;
// undefined unless positions are rotary.
Tensor rotations(const model::Config& config, const Tensor& like);
Tensor activate(model::Activation activation, const Tensor& x);

// The dropout of each place in a stack, during one pass.
struct BlockDropout {
  ops::Dropout output, attention, activation;
};

// The inputs that the blocks of one stack share during one pass.
struct StackInput {
  ops::Segments rows;
  ops::Visibility visibility = ops::Visibility::all;  // visibility of self-attention
  Tensor memory;                                      // the encoder's output, for cross-attention
  ops::Segments memory_rows;
  BlockForm form;
  Tensor turns;  // rotations of the rows' queries and keys (ops/heads.h), or undefined
  // Blocks keep only their inputs for the backward pass, which computes them again.
  bool recompute = false;
};

// Queries, keys and values of a block of attention to `seen`, which is x or the memory: rotated,
// and as many heads of each.
struct Projections {
  Tensor queries, keys, values;
};
Projections project(const BlockWeights& weights, const StackInput& input, const Tensor& x,
                    const Tensor& memory);

class StackBlocks final : public schemes::Blocks<Arithmetic> {
 public:
  using DropoutOf = std::function<BlockDropout(int k)>;

  // `weights` must outlive the object.
  StackBlocks(const std::vector<BlockWeights>& weights, int per_layer, StackInput input,
              DropoutOf dropout)
      : Blocks(static_cast<int>(weights.size()), per_layer),
        weights_(weights),
        input_(std::move(input)),
        dropout_(std::move(dropout)) {}

  LazyRows operator()(int k, const LazyRows& x) const override;

 private:
  const std::vector<BlockWeights>& weights_;
  StackInput input_;
  DropoutOf dropout_;
};

}  // namespace residual::nn
