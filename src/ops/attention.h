#pragma once

#include "ops/dropout.h"
#include "ops/segments.h"
#include "ops/tensor.h"

namespace residual::ops {

// The keys a query may see: all of its sentence, or those up to its own position.
enum class Visibility { all, causal };

struct AttentionSpec {
  int64_t heads = 1;
  Visibility visibility = Visibility::all;
  Segments queries, keys;  // the same number of sentences in both
  Dropout dropout;         // on the probabilities, not renormalised
};

namespace reference {

// Multi-head scaled dot-product attention (Vaswani et al. 2017, section 3.2) over packed rows:
//
//   out = drop(softmax(q k^T / sqrt(d / heads))) v      within each sentence, for each head
//
// q [query rows, d], k and v [key rows, d]; head h is columns [h d / heads, (h + 1) d / heads).
// The softmax is computed in float32 at least. `probabilities`, if not null, receives P before
// dropout as [sentence, head, query, key], padded with zeros.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec,
                 Tensor* probabilities = nullptr);

}  // namespace reference

// The same attention, by kernels where they apply, for joint projections: `qkv` [rows, 3 d] for
// self-attention; `q` [query rows, d] and `kv` [key rows, 2 d] for cross-attention.
Tensor self_attention(const Tensor& qkv, const AttentionSpec& spec);
Tensor cross_attention(const Tensor& q, const Tensor& kv, const AttentionSpec& spec);

}  // namespace residual::ops
