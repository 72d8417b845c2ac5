#include "training_kernels/multi_head.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE \
  "training_kernels/multi_head.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/scratch.h"
#include "kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels {
namespace HWY_NAMESPACE {
namespace {

int64_t padded(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// A small matrix: element (i, j) is data[i * row + j * column].
struct View {
  const float* data;
  int64_t row, column;
};

// A small matrix whose rows are accessed in whole vectors.
template <class T>
struct VectorRows {
  T* data;
  int64_t stride;
};

// Computes rows [i, i + kRows) of c = a b, kVectors vectors wide from column j on.
template <int kRows, int kVectors>
HWY_INLINE void tile(View a, int64_t i, VectorRows<const float> b, int64_t j, int64_t inner,
                     VectorRows<float> c) {
  Floats sum[kRows][kVectors];
  for (auto& row : sum) {
    for (auto& vector : row) vector = hn::Zero(kFloats);
  }
  for (int64_t k = 0; k < inner; ++k) {
    Floats bk[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      bk[v] = hn::LoadU(kFloats, b.data + k * b.stride + j + v * kLanes);
    }
    for (int r = 0; r < kRows; ++r) {
      const Floats ak = hn::Set(kFloats, a.data[(i + r) * a.row + k * a.column]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(ak, bk[v], sum[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[r][v], kFloats, c.data + (i + r) * c.stride + j + v * kLanes);
    }
  }
}

template <int kVectors>
HWY_INLINE void columns(View a, VectorRows<const float> b, int64_t rows, int64_t j, int64_t inner,
                        VectorRows<float> c) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) tile<4, kVectors>(a, i, b, j, inner, c);
  for (; i < rows; ++i) tile<1, kVectors>(a, i, b, j, inner, c);
}

// Computes c [rows, width] = a [rows, inner] b [inner, width]; width is a multiple of kLanes. The
// matrices have a few dozen rows and fit into the first-level cache, so nothing is packed.
void small_product(View a, VectorRows<const float> b, int64_t rows, int64_t width, int64_t inner,
                   VectorRows<float> c) {
  int64_t j = 0;
  for (; j + 4 * kLanes <= width; j += 4 * kLanes) columns<4>(a, b, rows, j, inner, c);
  for (; j + 2 * kLanes <= width; j += 2 * kLanes) columns<2>(a, b, rows, j, inner, c);
  for (; j < width; j += kLanes) columns<1>(a, b, rows, j, inner, c);
}

// Sets to [columns, width] to the transpose of from [rows, columns], padded with zeros.
void transpose(View from, int64_t rows, int64_t columns, int64_t width, float* to) {
  const hn::Full128<float> four;
  for (int64_t j = 0; j < columns; j += 4) {
    int64_t i = 0;
    for (; j + 4 <= columns && i + 4 <= rows; i += 4) {
      const float* block = from.data + i * from.row + j;
      const auto row = [&](int64_t r) HWY_ATTR { return hn::LoadU(four, block + r * from.row); };
      transpose_four(four, row(0), row(1), row(2), row(3), [&](auto v, int64_t c) HWY_ATTR {
        hn::StoreU(v, four, to + (j + c) * width + i);
      });
    }
    for (int64_t c = j; c < std::min(j + 4, columns); ++c) {
      for (int64_t r = i; r < rows; ++r) to[c * width + r] = from.data[r * from.row + c];
      std::fill(to + c * width + rows, to + (c + 1) * width, 0.0F);
    }
  }
}

// The computation of one head of one sentence, in the thread's scratch memory.
class Head {
 public:
  Head(const MultiHead& p, int64_t s, int64_t longest_query, int64_t longest_key)
      : p_(p),
        q_row_(p.query_offsets[s]),
        k_row_(p.key_offsets[s]),
        nq_(p.query_offsets[s + 1] - q_row_),
        nk_(p.key_offsets[s + 1] - k_row_),
        keys_(padded(nk_)),
        width_(padded(p.head_width)) {
    const int64_t head = std::max(longest_query, longest_key) * width_;
    const int64_t transposed = p.head_width * padded(longest_key);
    const int64_t square = longest_query * padded(longest_key) + kLanes;
    float* at = thread_scratch(4 * head + 2 * transposed + 4 * square);
    const auto take = [&at](int64_t count) {
      float* taken = at;
      at += count;
      return taken;
    };
    for (float** m : {&q_copy_, &kv_copy_, &dout_copy_, &result_}) *m = take(head);
    for (float** m : {&kt_, &vt_}) *m = take(transposed);
    for (float** m : {&p_matrix_, &dropped_, &factors_, &ds_}) *m = take(square);
  }

  // Computes drop(P) V for head h; `element` is the number of the head's first element of P.
  void forward(int64_t h, int64_t element, const Matrix<float>& out, float* log_sums) {
    const int64_t column = h * p_.head_width;
    transpose(view(p_.k, k_row_, column), nk_, p_.head_width, keys_, kt_);
    const VectorRows v = rows(p_.v, k_row_, nk_, column, kv_copy_);
    scores(view(p_.q, q_row_, column), kt_, p_matrix_);
    for (int64_t i = 0; i < nq_; ++i) log_sums[(q_row_ + i) * p_.heads + h] = softmax(i);
    drop(element);
    product({dropped_, keys_, 1}, v, nq_, nk_, out, q_row_, column);
  }

  void backward(int64_t h, int64_t element, const MultiHeadGradient& g) {
    const int64_t column = h * p_.head_width;
    transpose(view(p_.k, k_row_, column), nk_, p_.head_width, keys_, kt_);
    transpose(view(p_.v, k_row_, column), nk_, p_.head_width, keys_, vt_);
    const VectorRows q = rows(p_.q, q_row_, nq_, column, q_copy_);
    const VectorRows k = rows(p_.k, k_row_, nk_, column, kv_copy_);
    const VectorRows dout = rows(g.dout, q_row_, nq_, column, dout_copy_);
    scores(view(p_.q, q_row_, column), kt_, p_matrix_);
    for (int64_t i = 0; i < nq_; ++i) exponentiate(i, g.log_sums[(q_row_ + i) * p_.heads + h]);
    drop(element);
    scores(view(g.dout, q_row_, column), vt_, ds_);
    for (int64_t i = 0; i < nq_; ++i) softmax_gradient(i);
    product({dropped_, 1, keys_}, dout, nk_, nq_, g.dv, k_row_, column);
    product({ds_, keys_, 1}, k, nq_, nk_, g.dq, q_row_, column);
    product({ds_, 1, keys_}, q, nk_, nq_, g.dk, k_row_, column);
  }

  int64_t elements() const { return nq_ * nk_; }

 private:
  // Returns the rows from `row` on of the head whose first column is `column`.
  static View view(const Matrix<const float>& m, int64_t row, int64_t column) {
    return {m.data + row * m.stride + column, m.stride, 1};
  }

  // Returns the same rows in whole vectors: in place if the head's width allows, otherwise in
  // `copy`, padded with zeros.
  VectorRows<const float> rows(const Matrix<const float>& m, int64_t row, int64_t count,
                               int64_t column, float* copy) const {
    const float* from = m.data + row * m.stride + column;
    if (width_ == p_.head_width) return {from, m.stride};
    for (int64_t i = 0; i < count; ++i) {
      float* to = copy + i * width_;
      std::fill(std::copy_n(from + i * m.stride, p_.head_width, to), to + width_, 0.0F);
    }
    return {copy, width_};
  }

  // Computes to [nq, keys] = a [nq, head width] transposed.
  void scores(View a, const float* transposed, float* to) const {
    small_product(a, {transposed, keys_}, nq_, keys_, p_.head_width, {to, keys_});
  }

  // Writes a [count, inner] b to the rows from `row` on of the head's columns of `to`.
  void product(View a, VectorRows<const float> b, int64_t count, int64_t inner,
               const Matrix<float>& to, int64_t row, int64_t column) const {
    float* out = to.data + row * to.stride + column;
    if (width_ == p_.head_width) {
      small_product(a, b, count, width_, inner, {out, to.stride});
      return;
    }
    small_product(a, b, count, width_, inner, {result_, width_});
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(result_ + i * width_, p_.head_width, out + i * to.stride);
    }
  }

  int64_t visible(int64_t i) const { return p_.causal ? std::min(i + 1, nk_) : nk_; }

  // Turns row i of the scores into probabilities, with 0 for keys that the query may not see.
  // Returns the logarithm of the sum.
  float softmax(int64_t i) {
    float* row = p_matrix_ + i * keys_;
    const int64_t n = visible(i);
    std::fill(row + n, row + keys_, -std::numeric_limits<float>::infinity());
    Floats highest = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
    for (int64_t j = 0; j < keys_; j += kLanes) {
      highest = hn::Max(highest, hn::LoadU(kFloats, row + j));
    }
    const float most = hn::GetLane(hn::MaxOfLanes(kFloats, highest));
    Floats sum = hn::Zero(kFloats);
    for (int64_t j = 0; j < keys_; j += kLanes) {
      const auto x = hn::Mul(hn::Sub(hn::LoadU(kFloats, row + j), hn::Set(kFloats, most)),
                             hn::Set(kFloats, p_.scale));
      const auto e = exp_nonpositive(kFloats, x);
      hn::StoreU(e, kFloats, row + j);
      sum = hn::Add(sum, e);
    }
    const float all = total(sum);
    const auto inverse = hn::Set(kFloats, 1 / all);
    for (int64_t j = 0; j < keys_; j += kLanes) {
      hn::StoreU(hn::Mul(hn::LoadU(kFloats, row + j), inverse), kFloats, row + j);
    }
    return most * p_.scale + std::log(all);
  }

  // Turns row i of the scores into the probabilities that softmax() computed in the forward pass.
  void exponentiate(int64_t i, float log_sum) {
    float* row = p_matrix_ + i * keys_;
    std::fill(row + visible(i), row + keys_, -std::numeric_limits<float>::infinity());
    for (int64_t j = 0; j < keys_; j += kLanes) {
      const auto x = hn::MulSub(hn::LoadU(kFloats, row + j), hn::Set(kFloats, p_.scale),
                                hn::Set(kFloats, log_sum));
      const auto rounded_up = hn::Gt(x, hn::Zero(kFloats));  // unlike Min, keeps NaN
      hn::StoreU(exp_nonpositive(kFloats, hn::IfThenZeroElse(rounded_up, x)), kFloats, row + j);
    }
  }

  // Sets dropped = P * factors. The factors' rows are nk_ long; elements that a vector reads beyond
  // them are multiplied by zeros of P.
  void drop(int64_t element) {
    if (p_.dropout.on()) {
      dropout_factors(p_.dropout, element, nq_ * nk_, factors_);
    } else {
      std::fill_n(factors_, nq_ * nk_, 1.0F);
    }
    std::fill_n(factors_ + nq_ * nk_, kLanes, 0.0F);
    for (int64_t i = 0; i < nq_; ++i) {
      const float *factors = factors_ + i * nk_, *probability = p_matrix_ + i * keys_;
      for (int64_t j = 0; j < keys_; j += kLanes) {
        const auto factor = hn::LoadU(kFloats, factors + j);
        hn::StoreU(hn::Mul(factor, hn::LoadU(kFloats, probability + j)), kFloats,
                   dropped_ + i * keys_ + j);
      }
    }
  }

  // Turns row i of ds from the gradient of drop(P) into that of the scores,
  // dS_j = scale P_j (dP_j - sum_k dP_k P_k), dP = factors * d drop(P).
  void softmax_gradient(int64_t i) {
    float* ds = ds_ + i * keys_;
    const float *probability = p_matrix_ + i * keys_, *factors = factors_ + i * nk_;
    Floats sum = hn::Zero(kFloats);
    for (int64_t j = 0; j < keys_; j += kLanes) {
      const auto dp = hn::Mul(hn::LoadU(kFloats, ds + j), hn::LoadU(kFloats, factors + j));
      hn::StoreU(dp, kFloats, ds + j);
      sum = hn::MulAdd(dp, hn::LoadU(kFloats, probability + j), sum);
    }
    const auto all = hn::Set(kFloats, total(sum));
    for (int64_t j = 0; j < keys_; j += kLanes) {
      const auto scaled = hn::Mul(hn::LoadU(kFloats, probability + j), hn::Set(kFloats, p_.scale));
      hn::StoreU(hn::Mul(scaled, hn::Sub(hn::LoadU(kFloats, ds + j), all)), kFloats, ds + j);
    }
  }

  const MultiHead& p_;
  int64_t q_row_, k_row_;  // first rows of the sentence
  int64_t nq_, nk_;
  int64_t keys_, width_;  // nk_ and the head's width, padded to whole vectors
  float *q_copy_, *kv_copy_, *dout_copy_, *result_;  // rows of width_, where needed
  float *kt_, *vt_;
  float *p_matrix_, *dropped_, *factors_, *ds_;
};

int64_t longest(const int64_t* offsets, int64_t sentences) {
  int64_t most = 0;
  for (int64_t s = 0; s < sentences; ++s) most = std::max(most, offsets[s + 1] - offsets[s]);
  return most;
}

// Calls body(head, h, element) for every head of every sentence.
template <class Body>
void each_head(const MultiHead& p, const Body& body) {
  const int64_t queries = longest(p.query_offsets, p.sentences);
  const int64_t keys = longest(p.key_offsets, p.sentences);
  int64_t element = p.first_element;
  for (int64_t s = 0; s < p.sentences; ++s) {
    Head head(p, s, queries, keys);
    for (int64_t h = 0; h < p.heads; ++h, element += head.elements()) body(head, h, element);
  }
}

}  // namespace

void multi_head(const MultiHead& p, const Matrix<float>& out, float* log_sums) {
  each_head(
      p, [&](Head& head, int64_t h, int64_t element) { head.forward(h, element, out, log_sums); });
}

void multi_head_gradient(const MultiHeadGradient& g) {
  each_head(g.forward,
            [&](Head& head, int64_t h, int64_t element) { head.backward(h, element, g); });
}

}  // namespace HWY_NAMESPACE
}  // namespace residual::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(multi_head);
HWY_EXPORT(multi_head_gradient);

void multi_head(const MultiHead& p, const Matrix<float>& out, float* log_sums) {
  HWY_DYNAMIC_DISPATCH(multi_head)(p, out, log_sums);
}
void multi_head_gradient(const MultiHeadGradient& p) {
  HWY_DYNAMIC_DISPATCH(multi_head_gradient)(p);
}

}  // namespace residual::kernels
#endif
