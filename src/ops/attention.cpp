#include "ops/attention.h"

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "ops/function.h"
#include "ops/mode.h"
#include "training_kernels/multi_head.h"

namespace residual::ops {
namespace reference {
namespace {

// Maps each place of [sentence, position] to its packed row. Padding places repeat row 0; their
// results are never used.
Tensor padded_rows(const Segments& segments, const at::Device& device) {
  const int64_t longest = segments.longest();
  Tensor index = at::zeros({segments.count(), longest}, at::kLong);
  auto* at = index.data_ptr<int64_t>();
  for (int64_t s = 0; s < segments.count(); ++s) {
    for (int64_t i = 0; i < segments.length(s); ++i) {
      at[s * longest + i] = segments.offsets[s] + i;
    }
  }
  return index.flatten().to(device);
}

// Maps each packed row to its place in [sentence * longest].
Tensor packed_places(const Segments& segments, const at::Device& device) {
  const int64_t longest = segments.longest();
  Tensor index = at::empty({segments.rows()}, at::kLong);
  auto* at = index.data_ptr<int64_t>();
  for (int64_t s = 0; s < segments.count(); ++s) {
    for (int64_t i = 0; i < segments.length(s); ++i) *at++ = s * longest + i;
  }
  return index.to(device);
}

// [rows, d] -> [sentence, head, position, d / heads]
Tensor split_heads(const Tensor& x, const Segments& segments, int64_t heads) {
  return x.index_select(0, padded_rows(segments, x.device()))
      .view({segments.count(), segments.longest(), heads, x.size(1) / heads})
      .transpose(1, 2);
}

// 0 where a query may look, -inf where it may not: [sentence, 1, query, key]. A padded query sees
// the first key, so that its softmax has a value.
Tensor mask(const AttentionSpec& spec, const Tensor& like) {
  const int64_t nq = spec.queries.longest(), nk = spec.keys.longest();
  Tensor mask = at::full({spec.keys.count(), 1, nq, nk}, -std::numeric_limits<double>::infinity(),
                         at::TensorOptions(like.scalar_type()));
  for (int64_t s = 0; s < spec.keys.count(); ++s) {
    mask[s].narrow(2, 0, spec.keys.length(s)).zero_();
  }
  if (spec.visibility == Visibility::causal) {
    mask += at::triu(at::full({nq, nk}, -std::numeric_limits<double>::infinity(), mask.options()),
                     /*diagonal=*/1);
  }
  return mask.to(like.device());
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec,
                 Tensor* probabilities) {
  const int64_t d = q.size(1);
  if (q.size(0) == 0) return q;
  const double scale = 1 / std::sqrt(static_cast<double>(d / spec.heads));
  const Tensor queries = split_heads(q * scale, spec.queries, spec.heads);
  const Tensor keys = split_heads(k, spec.keys, spec.heads);
  const Tensor values = split_heads(v, spec.keys, spec.heads);

  const Tensor scores = at::matmul(queries, keys.transpose(2, 3));
  const auto precision = scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const Tensor p = at::softmax(scores.to(precision) + mask(spec, scores.to(precision)), -1);
  if (probabilities != nullptr) *probabilities = p;
  const Tensor dropped = dropout_probabilities(p, spec.queries, spec.keys, spec.dropout);
  return at::matmul(dropped.to(values.scalar_type()), values)
      .transpose(1, 2)
      .reshape({spec.queries.count() * spec.queries.longest(), d})
      .index_select(0, packed_places(spec.queries, q.device()));
}

}  // namespace reference
namespace {

using kernels::Matrix;

// Columns [first, first + width) of all rows.
template <class T>
Matrix<T> columns(const Tensor& t, int64_t first, int64_t width) {
  return {t.data_ptr<float>() + first, t.size(0), width, t.size(1)};
}

// If kv is undefined, q holds queries, keys and values.
struct Projections {
  const Tensor &q, &kv;
  int64_t width;

  const Tensor& keys() const { return kv.defined() ? kv : q; }
  int64_t first_key() const { return kv.defined() ? 0 : width; }
};

kernels::MultiHead multi_head(const Projections& p, const AttentionSpec& spec) {
  const int64_t head_width = p.width / spec.heads;
  return {.sentences = spec.queries.count(),
          .heads = spec.heads,
          .head_width = head_width,
          .query_offsets = spec.queries.offsets.data(),
          .key_offsets = spec.keys.offsets.data(),
          .causal = spec.visibility == Visibility::causal,
          .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_width))),
          .dropout = spec.dropout,
          .q = columns<const float>(p.q, 0, p.width),
          .k = columns<const float>(p.keys(), p.first_key(), p.width),
          .v = columns<const float>(p.keys(), p.first_key() + p.width, p.width)};
}

class Attention : public torch::autograd::Function<Attention> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& q, const Maybe& maybe_kv,
                        const std::shared_ptr<const AttentionSpec>& spec) {
    const Tensor kv = maybe_kv.value_or(Tensor());
    const Projections p{q, kv, kv.defined() ? q.size(1) : q.size(1) / 3};
    Tensor out = at::empty({q.size(0), p.width}, q.options());
    Tensor log_sums = at::empty({q.size(0), spec->heads}, q.options());
    kernels::multi_head(multi_head(p, *spec), columns<float>(out, 0, p.width),
                        log_sums.data_ptr<float>());
    ctx->save_for_backward({q, kv, log_sums});
    ctx->saved_data["spec"] = at::IValue::make_capsule(c10::make_intrusive<SavedSpec>(spec));
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& outputs) {
    const auto saved = ctx->get_saved_variables();
    const auto spec = ctx->saved_data["spec"].toCapsule();
    const AttentionSpec& s = *static_cast<const SavedSpec&>(*spec).spec;
    const Tensor dout = outputs[0].contiguous(), &q = saved[0], &kv = saved[1];
    const Projections p{q, kv, dout.size(1)};
    const Tensor dq = at::empty(q.sizes(), q.options());
    const Tensor dkv = kv.defined() ? at::empty(kv.sizes(), kv.options()) : Tensor();
    const Tensor& dkeys = kv.defined() ? dkv : dq;
    kernels::multi_head_gradient({.forward = multi_head(p, s),
                                  .log_sums = saved[2].data_ptr<float>(),
                                  .dout = columns<const float>(dout, 0, p.width),
                                  .dq = columns<float>(dq, 0, p.width),
                                  .dk = columns<float>(dkeys, p.first_key(), p.width),
                                  .dv = columns<float>(dkeys, p.first_key() + p.width, p.width)});
    return {dq, dkv, Tensor()};
  }

 private:
  struct SavedSpec : torch::CustomClassHolder {
    explicit SavedSpec(std::shared_ptr<const AttentionSpec> s) : spec(std::move(s)) {}
    std::shared_ptr<const AttentionSpec> spec;
  };
};

}  // namespace

Tensor self_attention(const Tensor& qkv, const AttentionSpec& spec) {
  if (kernels_fit({qkv})) {
    return Attention::apply(qkv.contiguous(), Maybe(), std::make_shared<AttentionSpec>(spec));
  }
  const auto parts = qkv.chunk(3, 1);
  return reference::attention(parts[0], parts[1], parts[2], spec);
}

Tensor cross_attention(const Tensor& q, const Tensor& kv, const AttentionSpec& spec) {
  if (kernels_fit({q, kv})) {
    return Attention::apply(q.contiguous(), Maybe(kv.contiguous()),
                            std::make_shared<AttentionSpec>(spec));
  }
  const auto parts = kv.chunk(2, 1);
  return reference::attention(q, parts[0], parts[1], spec);
}

}  // namespace residual::ops
