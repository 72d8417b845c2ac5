#include "ops/attention.h"

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "ops/function.h"
#include "ops/linear_bf16.h"
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

struct Gradients {
  const Tensor &dout, &dq, &dkv;
};

kernels::MultiHeadGradient gradient_of(const Projections& p, const kernels::MultiHead& forward,
                                       const float* log_sums, const Gradients& g) {
  const Tensor& dkeys = p.kv.defined() ? g.dkv : g.dq;
  return {.forward = forward,
          .log_sums = log_sums,
          .dout = columns<const float>(g.dout, 0, p.width),
          .dq = columns<float>(g.dq, 0, p.width),
          .dk = columns<float>(dkeys, p.first_key(), p.width),
          .dv = columns<float>(dkeys, p.first_key() + p.width, p.width)};
}

// Attention on rows in bfloat16: widens the rows of one sentence, computes in float32 and rounds
// its results.
class Widened {
 public:
  Widened(const Projections& p, const AttentionSpec& spec)
      : p_(p),
        spec_(spec),
        q_(rows(spec.queries, p.q.size(1))),
        kv_(p.kv.defined() ? rows(spec.keys, p.kv.size(1)) : Tensor()) {}

  void forward(const Tensor& out, float* log_sums) {
    const Tensor result = rows(spec_.queries, p_.width);
    each_sentence([&](int64_t s, const kernels::MultiHead& head) {
      kernels::multi_head(head, columns<float>(result, 0, p_.width), log_sums + first(s) * heads());
      narrow(result, spec_.queries, s, out);
    });
  }

  void backward(const float* log_sums, const Gradients& g) {
    const Tensor dout = rows(spec_.queries, p_.width), dq = at::empty_like(q_);
    const Tensor dkv = kv_.defined() ? at::empty_like(kv_) : Tensor();
    const Projections own{q_, kv_, p_.width};
    each_sentence([&](int64_t s, const kernels::MultiHead& head) {
      widen(g.dout, spec_.queries, s, dout);
      kernels::multi_head_gradient(
          gradient_of(own, head, log_sums + first(s) * heads(), {dout, dq, dkv}));
      narrow(dq, spec_.queries, s, g.dq);
      if (kv_.defined()) narrow(dkv, spec_.keys, s, g.dkv);
    });
  }

 private:
  static Tensor rows(const Segments& segments, int64_t width) {
    return at::empty({segments.longest(), width}, at::kFloat);
  }
  static void widen(const Tensor& from, const Segments& segments, int64_t s, const Tensor& to) {
    const int64_t width = from.size(1);
    kernels::from_bf16(halves(from) + segments.offsets[s] * width, segments.length(s) * width,
                       to.data_ptr<float>());
  }
  static void narrow(const Tensor& from, const Segments& segments, int64_t s, const Tensor& to) {
    const int64_t width = from.size(1);
    kernels::to_bf16(from.data_ptr<float>(), segments.length(s) * width,
                     halves(to) + segments.offsets[s] * width);
  }

  template <class Body>
  void each_sentence(const Body& body) {
    kernels::MultiHead head = multi_head({q_, kv_, p_.width}, spec_);
    head.sentences = 1;
    for (int64_t s = 0; s < spec_.queries.count(); ++s) {
      const int64_t queries[] = {0, spec_.queries.length(s)}, keys[] = {0, spec_.keys.length(s)};
      head.query_offsets = queries;
      head.key_offsets = keys;
      widen(p_.q, spec_.queries, s, q_);
      if (kv_.defined()) widen(p_.kv, spec_.keys, s, kv_);
      body(s, head);
      head.first_element += heads() * queries[1] * keys[1];
    }
  }

  int64_t first(int64_t s) const { return spec_.queries.offsets[s]; }
  int64_t heads() const { return spec_.heads; }

  const Projections& p_;
  const AttentionSpec& spec_;
  Tensor q_, kv_;
};

class Attention : public torch::autograd::Function<Attention> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& q, const Maybe& maybe_kv,
                        const std::shared_ptr<const AttentionSpec>& spec) {
    const Tensor kv = maybe_kv.value_or(Tensor());
    const Projections p{q, kv, kv.defined() ? q.size(1) : q.size(1) / 3};
    Tensor out = at::empty({q.size(0), p.width}, q.options());
    Tensor log_sums = at::empty({q.size(0), spec->heads}, q.options().dtype(at::kFloat));
    if (q.scalar_type() == at::kFloat) {
      kernels::multi_head(multi_head(p, *spec), columns<float>(out, 0, p.width),
                          log_sums.data_ptr<float>());
    } else {
      Widened(p, *spec).forward(out, log_sums.data_ptr<float>());
    }
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
    const float* log_sums = saved[2].data_ptr<float>();
    if (q.scalar_type() == at::kFloat) {
      kernels::multi_head_gradient(gradient_of(p, multi_head(p, s), log_sums, {dout, dq, dkv}));
    } else {
      Widened(p, s).backward(log_sums, {dout, dq, dkv});
    }
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
  if (kernels_fit({qkv}) || bf16_kernels_fit({qkv})) {
    return Attention::apply(qkv.contiguous(), Maybe(), std::make_shared<AttentionSpec>(spec));
  }
  const auto parts = qkv.chunk(3, 1);
  return reference::attention(parts[0], parts[1], parts[2], spec);
}

Tensor cross_attention(const Tensor& q, const Tensor& kv, const AttentionSpec& spec) {
  if (kernels_fit({q, kv}) || bf16_kernels_fit({q, kv})) {
    return Attention::apply(q.contiguous(), Maybe(kv.contiguous()),
                            std::make_shared<AttentionSpec>(spec));
  }
  const auto parts = kv.chunk(2, 1);
  return reference::attention(q, parts[0], parts[1], spec);
}

}  // namespace residual::ops
