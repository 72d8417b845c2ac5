#include "ops/attention.h"

#include <cmath>
#include <limits>

namespace residual::ops {
namespace reference {
namespace {

// For each place of [sentence, position] the row that stands there; places beyond a sentence's end
// repeat row 0, and what is computed for them is never used.
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

// Where each packed row stands in [sentence * longest].
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

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec) {
  return reference::attention(q, k, v, spec);
}

}  // namespace residual::ops
