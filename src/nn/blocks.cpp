#include "nn/blocks.h"

#include "ops/linear.h"

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
  const Tensor qkv = ops::linear(x, w.qkv.weight, w.qkv.bias);
  const Tensor mixed = ops::self_attention(qkv, {.heads = in.heads,
                                                 .visibility = in.visibility,
                                                 .queries = in.rows,
                                                 .keys = in.rows,
                                                 .dropout = dropout});
  return ops::linear(mixed, w.output.weight, w.output.bias);
}

Tensor cross_attention(const BlockWeights& w, const StackInput& in, const Tensor& x,
                       const ops::Dropout& dropout) {
  const Tensor q = ops::linear(x, w.query.weight, w.query.bias);
  const Tensor kv = ops::linear(in.memory, w.key_value.weight, w.key_value.bias);
  const Tensor mixed = ops::cross_attention(q, kv,
                                            {.heads = in.heads,
                                             .visibility = ops::Visibility::all,
                                             .queries = in.rows,
                                             .keys = *in.memory_rows,
                                             .dropout = dropout});
  return ops::linear(mixed, w.output.weight, w.output.bias);
}

Tensor feed_forward(const BlockWeights& w, const Tensor& x, const ops::Dropout& dropout) {
  const Tensor inner = ops::linear_relu(x, w.inner.weight, w.inner.bias, dropout);
  return ops::linear(inner, w.outer.weight, w.outer.bias);
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

Rows StackBlocks::operator()(int k, const Rows& rows) const {
  const BlockWeights& w = weights_[k];
  const BlockDropout dropout = input_.dropout(k);
  const at::Tensor x = rows.value();
  at::Tensor f;
  switch (w.kind) {
    case Kind::self_attention:
      f = self_attention(w, input_, x, dropout.attention);
      break;
    case Kind::cross_attention:
      f = cross_attention(w, input_, x, dropout.attention);
      break;
    case Kind::feed_forward:
      f = feed_forward(w, x, dropout.activation);
      break;
  }
  return Rows(ops::Branch{f, dropout.output});
}

}  // namespace residual::nn
