#include "nn/blocks.h"

#include "ops/linear.h"
#include "ops/recompute.h"

namespace residual::nn {
namespace {

using Kind = BlockWeights::Kind;

Kind kind_of(const schemes::Stack& stack, int k) {
  const int place = k % stack.blocks_per_layer;
  if (place == 0) return Kind::self_attention;
  return place == stack.blocks_per_layer - 1 ? Kind::feed_forward : Kind::cross_attention;
}

Tensor self_attention(const BlockWeights& w, const StackInput& in, const Tensor& x,
                      const ops::Dropout& dropout) {
  const Tensor qkv = ops::linear(x, w.qkv.weight, w.qkv.bias, ops::Result::inside);
  const Tensor mixed = ops::self_attention(qkv, {.heads = in.heads,
                                                 .visibility = in.visibility,
                                                 .queries = in.rows,
                                                 .keys = in.rows,
                                                 .dropout = dropout});
  return ops::linear(mixed, w.output.weight, w.output.bias);
}

Tensor cross_attention(const BlockWeights& w, const StackInput& in, const Tensor& x,
                       const Tensor& memory, const ops::Dropout& dropout) {
  const Tensor q = ops::linear(x, w.query.weight, w.query.bias, ops::Result::inside);
  const Tensor kv = ops::linear(memory, w.key_value.weight, w.key_value.bias, ops::Result::inside);
  const Tensor mixed = ops::cross_attention(q, kv,
                                            {.heads = in.heads,
                                             .visibility = ops::Visibility::all,
                                             .queries = in.rows,
                                             .keys = in.memory_rows,
                                             .dropout = dropout});
  return ops::linear(mixed, w.output.weight, w.output.bias);
}

Tensor feed_forward(const BlockWeights& w, const Tensor& x, const ops::Dropout& dropout) {
  const Tensor inner = ops::linear_relu(x, w.inner.weight, w.inner.bias, dropout);
  return ops::linear(inner, w.outer.weight, w.outer.bias);
}

// The block as a function that owns everything it needs except x and memory, because the backward
// pass may call it again.
ops::RowsFunction function_of(const BlockWeights& weights, StackInput input,
                              const BlockDropout& dropout) {
  input.memory = Tensor();
  return [w = weights, in = std::move(input), dropout](const Tensor& x, const Tensor& memory) {
    switch (w.kind) {
      case Kind::self_attention:
        return self_attention(w, in, x, dropout.attention);
      case Kind::cross_attention:
        return cross_attention(w, in, x, memory, dropout.attention);
      case Kind::feed_forward:
        break;
    }
    return feed_forward(w, x, dropout.activation);
  };
}

}  // namespace

BlockWeights find_block(const Parameters& parameters, schemes::Side side, int k) {
  const std::string block = model::block_name(parameters.config(), side, k) + ".";
  const auto find = [&](const std::string& name) -> Linear {
    return {parameters.at(block + name + ".weight"), parameters.at(block + name + ".bias")};
  };
  BlockWeights w{.kind = kind_of(model::stack(parameters.config(), side), k)};
  switch (w.kind) {
    case Kind::self_attention:
      w.qkv = find("qkv");
      w.output = find("output");
      break;
    case Kind::cross_attention:
      w.query = find("query");
      w.key_value = find("key_value");
      w.output = find("output");
      break;
    case Kind::feed_forward:
      w.inner = find("inner");
      w.outer = find("outer");
      break;
  }
  return w;
}

LazyRows StackBlocks::operator()(int k, const LazyRows& rows) const {
  const BlockDropout dropout = dropout_(k);
  const auto f = function_of(weights_[k], input_, dropout);
  const at::Tensor x = rows.value();
  const bool looks = weights_[k].kind == Kind::cross_attention;
  const at::Tensor memory = looks ? input_.memory : at::Tensor();
  return LazyRows(
      ops::Branch{input_.recompute ? ops::recompute(f, x, memory) : f(x, memory), dropout.output});
}

}  // namespace residual::nn
