#include "nn/blocks.h"

#include "model/positions.h"
#include "ops/activation.h"
#include "ops/heads.h"
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

// The projections are one matrix that attention can read as it is.
bool is_plain(const StackInput& in) {
  return in.form.kv_heads == in.form.heads && !in.turns.defined();
}

Tensor self_attention(const BlockWeights& w, const StackInput& in, const Tensor& x,
                      const ops::Dropout& dropout) {
  Tensor qkv;
  if (is_plain(in)) {
    qkv = ops::linear(x, w.qkv.weight, w.qkv.bias, ops::Result::inside);
  } else {
    const Projections p = project(w, in, x, {});
    qkv = at::cat({p.queries, p.keys, p.values}, 1);
  }
  const Tensor mixed = ops::self_attention(qkv, {.heads = in.form.heads,
                                                 .visibility = in.visibility,
                                                 .queries = in.rows,
                                                 .keys = in.rows,
                                                 .dropout = dropout});
  return ops::linear(mixed, w.output.weight, w.output.bias);
}

Tensor cross_attention(const BlockWeights& w, const StackInput& in, const Tensor& x,
                       const Tensor& memory, const ops::Dropout& dropout) {
  Tensor q, kv;
  if (in.form.kv_heads == in.form.heads) {
    q = ops::linear(x, w.query.weight, w.query.bias, ops::Result::inside);
    kv = ops::linear(memory, w.key_value.weight, w.key_value.bias, ops::Result::inside);
  } else {
    const Projections p = project(w, in, x, memory);
    q = p.queries;
    kv = at::cat({p.keys, p.values}, 1);
  }
  const Tensor mixed = ops::cross_attention(q, kv,
                                            {.heads = in.form.heads,
                                             .visibility = ops::Visibility::all,
                                             .queries = in.rows,
                                             .keys = in.memory_rows,
                                             .dropout = dropout});
  return ops::linear(mixed, w.output.weight, w.output.bias);
}

Tensor feed_forward(const BlockWeights& w, const BlockForm& form, const Tensor& x,
                    const ops::Dropout& dropout) {
  Tensor inner;
  if (form.activation == model::Activation::relu && !form.gated) {
    inner = ops::linear_relu(x, w.inner.weight, w.inner.bias, dropout);
  } else {
    inner = ops::linear(x, w.inner.weight, w.inner.bias);
    if (form.gated) {
      const auto halves = inner.chunk(2, 1);
      inner = activate(form.activation, halves[0]) * halves[1];
    } else {
      inner = activate(form.activation, inner);
    }
    inner = ops::reference::dropout(inner, dropout);
  }
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
    return feed_forward(w, in.form, x, dropout.activation);
  };
}

}  // namespace

Linear find_linear(const Parameters& parameters, const std::string& name) {
  const Tensor& weight = parameters.at(name + ".weight");
  if (!parameters.config().biases) {
    return {weight, at::zeros({weight.size(0)}, weight.options().requires_grad(false))};
  }
  return {weight, parameters.at(name + ".bias")};
}

BlockForm block_form(const model::Config& config) {
  return {.heads = config.heads,
          .kv_heads = config.kv_heads(),
          .activation = config.activation,
          .gated = config.gated};
}

Tensor rotations(const model::Config& config, const Tensor& like) {
  if (config.positions != model::Positions::rotary) return {};
  const int64_t width = config.head_width();
  Tensor table = at::empty({config.max_positions, width}, at::kFloat);
  for (int64_t i = 0; i < config.max_positions; ++i) {
    model::rotation(i, config.rotary_base,
                    {table.data_ptr<float>() + i * width, static_cast<size_t>(width)});
  }
  return table.to(like.options());
}

Tensor activate(model::Activation activation, const Tensor& x) {
  switch (activation) {
    case model::Activation::relu:
      break;
    case model::Activation::swish:
      return ops::swish(x);
    case model::Activation::gelu:
      return ops::gelu(x);
    case model::Activation::gelu_tanh:
      return ops::gelu_tanh(x);
  }
  return at::relu(x);
}

Projections project(const BlockWeights& w, const StackInput& in, const Tensor& x,
                    const Tensor& memory) {
  const BlockForm& form = in.form;
  Projections p;
  if (w.kind == Kind::self_attention) {
    const Tensor qkv = ops::linear(x, w.qkv.weight, w.qkv.bias);
    const int64_t d = x.size(1), kv = (qkv.size(1) - d) / 2;
    p = {qkv.narrow(1, 0, d), qkv.narrow(1, d, kv), qkv.narrow(1, d + kv, kv)};
    if (in.turns.defined()) {
      p.queries = ops::rotate(p.queries, in.turns);
      p.keys = ops::rotate(p.keys, in.turns);
    }
  } else {
    const auto kv = ops::linear(memory, w.key_value.weight, w.key_value.bias).chunk(2, 1);
    p = {ops::linear(x, w.query.weight, w.query.bias), kv[0], kv[1]};
  }
  const int64_t times = form.heads / form.kv_heads;
  p.keys = ops::repeat_heads(p.keys, form.kv_heads, times);
  p.values = ops::repeat_heads(p.values, form.kv_heads, times);
  return p;
}

BlockWeights find_block(const Parameters& parameters, schemes::Side side, int k) {
  const std::string block = model::block_name(parameters.config(), side, k) + ".";
  const auto find = [&](const std::string& name) { return find_linear(parameters, block + name); };
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
