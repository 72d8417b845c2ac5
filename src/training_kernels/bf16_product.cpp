#include "training_kernels/bf16_product.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE \
  "training_kernels/bf16_product.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/simd.h"
#include "training_kernels/bf16_pairs.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels {
namespace HWY_NAMESPACE {
namespace {

constexpr int kRows = 6;               // of a tile: 24 vectors of sums, or 12 with 16 registers
constexpr int64_t kGroup = 8 * kRows;  // columns of dy that are packed at once

// Up to kRows rows and kColumns columns of c.
struct Tile {
  const uint32_t* a;  // pair k of row r is a[r * row + k * step]
  int64_t row, step;
  const uint32_t* b;  // pair k of column j is b[k * kColumns + j]
  int64_t depth;      // pairs
  Matrix<float> c;
  bool add;  // the sums begin with c, otherwise with the bias or zero
  const float* bias;
};

template <class Dot, int R, int V>
HWY_INLINE void run_tile(const Tile& t) {
  Floats sum[R][V];
  const int64_t last = t.c.columns - (V - 1) * kLanes;  // columns of the last vector
  const auto count = [&](int v) HWY_ATTR { return v + 1 < V ? kLanes : last; };
  for (int v = 0; v < V; ++v) {
    const Floats first =
        t.bias != nullptr ? elements(t.bias + v * kLanes, count(v)) : hn::Zero(kFloats);
    for (int r = 0; r < R; ++r) {
      const float* const from = t.c.data + r * t.c.stride + v * kLanes;
      sum[r][v] = t.add ? elements(from, count(v)) : first;
    }
  }
  const uint32_t *a = t.a, *b = t.b;
  for (int64_t k = 0; k < t.depth; ++k, a += t.step, b += kColumns) {
    typename Dot::Factor column[V];
    for (int v = 0; v < V; ++v) column[v] = Dot::load(b + v * kLanes);
    for (int r = 0; r < R; ++r) {
      uint32_t pair = 0;  // of halves in place
      std::memcpy(&pair, a + r * t.row, sizeof(pair));
      const auto row = Dot::set(pair);
      for (int v = 0; v < V; ++v) sum[r][v] = Dot::add(row, column[v], sum[r][v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      float* const to = t.c.data + r * t.c.stride + v * kLanes;
      store_elements(sum[r][v], count(v), to);
    }
  }
}

// Calls run_tile() with the smallest number of rows and vectors that hold the tile.
template <class Dot, int R = kRows, int V = kPanelVectors>
HWY_INLINE void dispatch_tile(const Tile& t) {
  if constexpr (R > 1) {
    if (t.c.rows < R) return dispatch_tile<Dot, R - 1, V>(t);
  }
  if constexpr (V > 1) {
    if (t.c.columns <= (V - 1) * kLanes) return dispatch_tile<Dot, R, V - 1>(t);
  }
  run_tile<Dot, R, V>(t);
}

void run(const Tile& t) {
  with_dot([&](auto dot) HWY_ATTR { dispatch_tile<decltype(dot)>(t); });
}

// The part of c from (i, j) on that a tile computes.
Matrix<float> tile_of(const Matrix<float>& c, int64_t i, int64_t j) {
  return {c.data + i * c.stride + j, std::min<int64_t>(kRows, c.rows - i),
          std::min(kColumns, c.columns - j), c.stride};
}

// Packs the pairs [begin, begin + depth) of the columns [o, o + kGroup) of dy and adds the columns
// to db.
template <class Dot>
HWY_INLINE void pack_group(const Operand& dy, int64_t o, int64_t begin, int64_t depth, float* db,
                           uint32_t* to) {
  static_assert(kGroup % kLanes == 0);
  const int64_t columns = std::min(kGroup, dy.columns - o);
  HWY_ALIGN float sums[kGroup] = {};
  if (db != nullptr) std::copy_n(db + o, columns, sums);
  for (int64_t k = 0; k < depth; ++k, to += kGroup) {
    for (int64_t j = 0; j < columns; j += kLanes) {
      const Pairs pairs = pairs_at<Dot>(dy, begin + k, o + j);
      const Emulated::Factor values = Emulated::split(pairs);
      hn::StoreU(pairs, kPairs, to + j);
      const Floats sum = hn::Add(hn::Load(kFloats, sums + j), values.first);
      hn::Store(hn::Add(sum, values.second), kFloats, sums + j);
    }
  }
  if (db != nullptr) std::copy_n(sums, columns, db + o);
}

}  // namespace

bool uses_instruction() { return RESIDUAL_NATIVE_BF16 && cpu_has_bf16; }

int64_t packed_words(int64_t inner, int64_t columns) { return pairs_of(inner) * padded(columns); }

void pack_rows_to(const Operand& w, uint32_t* to) {
  with_dot([&](auto dot) HWY_ATTR { pack_rows<decltype(dot)>(w, to); });
}

void pack_columns_to(const Operand& w, uint32_t* to) {
  uint32_t* const memory = thread_words(kColumns * pairs_of(w.columns));
  with_dot([&](auto dot) HWY_ATTR { pack_columns<decltype(dot)>(w, memory, to); });
}

void multiply_packed(const Operand& a, const PackedFactor& b, const float* bias,
                     const Matrix<float>& c) {
  const int64_t all = pairs_of(b.inner());
  PairRows rows{};
  uint32_t* const memory = thread_words(a.rows * all);
  with_dot([&](auto dot) HWY_ATTR { rows = round_rows<decltype(dot)>(a, memory); });
  for (int64_t begin = 0; begin == 0 || begin < all; begin += kDepth) {
    const int64_t depth = std::min(kDepth, all - begin);
    for (int64_t j = 0; j < c.columns; j += kColumns) {
      for (int64_t i = 0; i < c.rows; i += kRows) {
        run({.a = rows.pairs + i * rows.stride + begin,
             .row = rows.stride,
             .step = 1,
             .b = b.pairs() + panel_place(begin, depth, j, c.columns),
             .depth = depth,
             .c = tile_of(c, i, j),
             .add = begin > 0,
             .bias = bias == nullptr ? nullptr : bias + j});
      }
    }
  }
}

void add_weight_gradient(const Operand& dy, const PackedFactor& x, const Matrix<float>& dw,
                         bool add, float* db) {
  const int64_t all = pairs_of(dy.rows);
  uint32_t* const group = thread_words(kGroup * std::min(all, kDepth));
  for (int64_t begin = 0; begin == 0 || begin < all; begin += kDepth) {
    const int64_t depth = std::min(kDepth, all - begin);
    for (int64_t o = 0; o < dw.rows; o += kGroup) {
      with_dot([&](auto dot)
                   HWY_ATTR { pack_group<decltype(dot)>(dy, o, begin, depth, db, group); });
      for (int64_t j = 0; j < dw.columns; j += kColumns) {
        for (int64_t i = o; i < std::min(o + kGroup, dw.rows); i += kRows) {
          run({.a = group + i - o,
               .row = 1,
               .step = kGroup,
               .b = x.pairs() + panel_place(begin, depth, j, dw.columns),
               .depth = depth,
               .c = tile_of(dw, i, j),
               .add = add || begin > 0,
               .bias = nullptr});
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace residual::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(uses_instruction);
HWY_EXPORT(packed_words);
HWY_EXPORT(pack_rows_to);
HWY_EXPORT(pack_columns_to);
HWY_EXPORT(multiply_packed);
HWY_EXPORT(add_weight_gradient);

#if HWY_ARCH_X86
const bool cpu_has_bf16 = __builtin_cpu_supports("avx512bf16") != 0;
#else
const bool cpu_has_bf16 = false;
#endif

bool has_bf16_products() { return HWY_DYNAMIC_DISPATCH(uses_instruction)(); }

Operand Operand::part(int64_t begin, int64_t count) const {
  Operand p = *this;
  if (p.floats != nullptr) p.floats += begin * stride;
  if (p.halves != nullptr) p.halves += begin * stride;
  p.rows = count;
  return p;
}

Operand operand(const float* floats, int64_t rows, int64_t columns) {
  return {.floats = floats, .rows = rows, .columns = columns, .stride = columns};
}
Operand operand(const Bf16* halves, int64_t rows, int64_t columns) {
  return {.halves = halves, .rows = rows, .columns = columns, .stride = columns};
}

PackedFactor::PackedFactor(int64_t inner, int64_t columns)
    : memory_(HWY_DYNAMIC_DISPATCH(packed_words)(inner, columns)),
      inner_(inner),
      columns_(columns) {}

PackedFactor PackedFactor::of(const Operand& w) {
  PackedFactor packed(w.rows, w.columns);
  HWY_DYNAMIC_DISPATCH(pack_rows_to)(w, packed.memory_.grow(0));
  return packed;
}

PackedFactor PackedFactor::of_transposed(const Operand& w) {
  PackedFactor packed(w.columns, w.rows);
  HWY_DYNAMIC_DISPATCH(pack_columns_to)(w, packed.memory_.grow(0));
  return packed;
}

void multiply(const Operand& a, const PackedFactor& b, const float* bias, const Matrix<float>& c) {
  HWY_DYNAMIC_DISPATCH(multiply_packed)(a, b, bias, c);
}

void weight_gradient(const Operand& dy, const Operand& x, const Matrix<float>& dw, bool add,
                     float* db) {
  HWY_DYNAMIC_DISPATCH(add_weight_gradient)(dy, PackedFactor::of(x), dw, add, db);
}

}  // namespace residual::kernels
#endif
