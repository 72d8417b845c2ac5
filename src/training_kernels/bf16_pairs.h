// The factors of bf16_product.cpp in the order in which it reads them, once per instruction set:
// included inside each pass of hwy/foreach_target.h, so its guard toggles.
#if defined(RESIDUAL_TRAINING_KERNELS_BF16_PAIRS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RESIDUAL_TRAINING_KERNELS_BF16_PAIRS_H
#undef RESIDUAL_TRAINING_KERNELS_BF16_PAIRS_H
#else
#define RESIDUAL_TRAINING_KERNELS_BF16_PAIRS_H
#endif

#include <algorithm>

#include "training_kernels/bf16_product.h"
#include "training_kernels/bf16_simd.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {

// A pair is two neighbouring terms of a sum in a word, the first in its lower half.
constexpr hn::ScalableTag<uint32_t> kPairs;
using Pairs = hn::Vec<decltype(kPairs)>;

constexpr bool kManyRegisters =
    HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON;
constexpr int kPanelVectors = kManyRegisters ? 4 : 2;
constexpr int64_t kColumns = kPanelVectors * kLanes;  // of a panel
constexpr int64_t kDepth = 512;                       // pairs that a panel holds at once

HWY_INLINE int64_t pairs_of(int64_t terms) { return (terms + 1) / 2; }
HWY_INLINE int64_t padded(int64_t columns) {
  return (columns + kColumns - 1) / kColumns * kColumns;
}

// The right factor is stored in blocks of kDepth pairs; a block is its panels one after another,
// and a panel is `depth` rows of kColumns pairs.
HWY_INLINE int64_t panel_place(int64_t begin, int64_t depth, int64_t column, int64_t columns) {
  return begin * padded(columns) + column * depth;
}

// kLanes elements of a row from `column` on as float32; zeros beyond the row.
HWY_INLINE Floats elements(const Operand& m, int64_t row, int64_t column) {
  const int64_t at = row * m.stride + column, count = m.columns - column;
  if (count >= kLanes) {
    return m.floats != nullptr ? hn::LoadU(kFloats, m.floats + at)
                               : load_bf16(kFloats, m.halves + at);
  }
  HWY_ALIGN float some[kLanes] = {};
  if (m.floats != nullptr) {
    std::copy_n(m.floats + at, count, some);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      hn::Store(load_bf16(kOneFloat, m.halves + at + i), kOneFloat, some + i);
    }
  }
  return hn::Load(kFloats, some);
}

// The same elements, rounded, in the upper halves of the lanes.
HWY_INLINE Pairs upper_halves(const Operand& m, int64_t row, int64_t column) {
  const Floats x = elements(m, row, column);
  return m.floats != nullptr ? round_upper(kFloats, x) : hn::BitCast(kPairs, x);
}

// Pairs of the rows 2 k and 2 k + 1; a missing row is zero.
HWY_INLINE Pairs pairs_at(const Operand& m, int64_t k, int64_t column) {
  const Pairs first = hn::ShiftRight<16>(upper_halves(m, 2 * k, column));
  if (2 * k + 1 == m.rows) return first;
  return hn::Or(first, hn::And(upper_halves(m, 2 * k + 1, column), hn::Set(kPairs, 0xFFFF0000)));
}

// Packs w [terms, columns].
inline void pack_rows(const Operand& w, uint32_t* to) {
  const int64_t all = pairs_of(w.rows);
  for (int64_t begin = 0; begin < all; begin += kDepth) {
    const int64_t depth = std::min(kDepth, all - begin);
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < w.columns; j += kLanes) {
        const int64_t panel = j / kColumns * kColumns;
        uint32_t* const row = to + panel_place(begin, depth, panel, w.columns) + k * kColumns;
        hn::StoreU(pairs_at(w, begin + k, j), kPairs, row + j - panel);
      }
    }
  }
}

// Rows of pairs [rows, stride].
struct PairRows {
  const uint32_t* pairs;
  int64_t stride;
};

// Rounds the rows of m into memory for rows * pairs_of(columns) words.
inline PairRows round_rows(const Operand& m, uint32_t* memory) {
  const int64_t stride = pairs_of(m.columns);
  auto* halves = reinterpret_cast<Bf16*>(memory);
  for (int64_t i = 0; i < m.rows; ++i, halves += 2 * stride) {
    if (m.floats == nullptr) {
      std::copy_n(m.halves + i * m.stride, m.columns, halves);
    } else {
      const float* const from = m.floats + i * m.stride;
      over(m.columns,
           [&](auto t, int64_t j) HWY_ATTR { store_bf16(t, hn::LoadU(t, from + j), halves + j); });
    }
    if (m.columns % 2 != 0) halves[m.columns] = 0;
  }
  return {memory, stride};
}

// Sets to[k][c] = row c's pair k for `rows` rows and `depth` pairs.
inline void transpose_pairs(const PairRows& from, int64_t rows, int64_t depth, uint32_t* to) {
  const hn::Full128<uint32_t> four;
  const int64_t whole_rows = rows / 4 * 4, whole_depth = depth / 4 * 4;
  const auto one = [&](int64_t k, int64_t c)
                       HWY_ATTR { to[k * kColumns + c] = from.pairs[c * from.stride + k]; };
  for (int64_t k = 0; k < whole_depth; k += 4) {
    for (int64_t c = 0; c < whole_rows; c += 4) {
      const auto row = [&](int64_t i) HWY_ATTR {
        return hn::LoadU(four, from.pairs + (c + i) * from.stride + k);
      };
      transpose_four(four, row(0), row(1), row(2), row(3), [&](auto v, int64_t i) HWY_ATTR {
        hn::StoreU(v, four, to + (k + i) * kColumns + c);
      });
    }
    for (int64_t c = whole_rows; c < rows; ++c) {
      for (int64_t i = k; i < k + 4; ++i) one(i, c);
    }
  }
  for (int64_t k = whole_depth; k < depth; ++k) {
    for (int64_t c = 0; c < rows; ++c) one(k, c);
  }
}

// Packs w [columns, terms] transposed. `memory`: kColumns * pairs_of(terms) words.
inline void pack_columns(const Operand& w, uint32_t* memory, uint32_t* to) {
  const int64_t all = pairs_of(w.columns);
  for (int64_t j = 0; j < w.rows; j += kColumns) {
    const int64_t columns = std::min(kColumns, w.rows - j);
    const PairRows rows = round_rows(w.part(j, columns), memory);
    for (int64_t begin = 0; begin < all; begin += kDepth) {
      const int64_t depth = std::min(kDepth, all - begin);
      transpose_pairs({rows.pairs + begin, rows.stride}, columns, depth,
                      to + panel_place(begin, depth, j, w.rows));
    }
  }
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
