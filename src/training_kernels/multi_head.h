#pragma once

#include <cstdint>

#include "training_kernels/dropout.h"
#include "training_kernels/product.h"

namespace residual::kernels {

// Attention for training over packed rows: within each sentence s and for each head,
//
//   P = softmax(scale Q K^T)      O = drop(P) V
//
// Q, O are rows [query_offsets[s], query_offsets[s + 1]) of matrices with heads * head_width
// columns, K, V rows [key_offsets[s], key_offsets[s + 1]). Causal: query i sees keys 0 ... i.
// Elements of drop(P) are numbered sentence by sentence, head by head, row by row.
struct MultiHead {
  int64_t sentences = 0, heads = 1, head_width = 0;
  const int64_t *query_offsets = nullptr, *key_offsets = nullptr;  // [sentences + 1]
  bool causal = false;
  float scale = 1;
  Dropout dropout;
  int64_t first_element = 0;  // number of the first element of the first sentence
  Matrix<const float> q, k, v;
};

// `log_sums` [query rows, heads] receives the log of the softmax's denominator, from which the
// gradient recomputes P instead of storing it.
void multi_head(const MultiHead& p, const Matrix<float>& out, float* log_sums);

struct MultiHeadGradient {
  MultiHead forward;
  const float* log_sums = nullptr;
  Matrix<const float> dout;
  Matrix<float> dq, dk, dv;  // written, not added to
};
void multi_head_gradient(const MultiHeadGradient& p);

}  // namespace residual::kernels
