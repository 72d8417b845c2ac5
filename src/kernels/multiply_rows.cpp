#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/multiply_rows.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/multiply.h"
#include "kernels/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {
namespace {

// The prefetch distance within a row of weights, in elements: 16 lines. The CPU's prefetcher does
// not follow many rows that are read in parallel.
constexpr int64_t kDistance = 256;

// Rows of x per tile: their sums and a square of weights fill the registers.
constexpr int kMostRows = kLanes == 16 ? 13 : 6;

// Rows [row, row + kRows) by columns [column, column + kLanes) of y; those before `first` are
// computed, but not stored. `others_follow`: the next rows of weights are used next.
//
// Unpacked weights are transposed in registers on their way to the sums, in the same order, so the
// bits equal those of packed weights. Whole lines are transposed: 16 rows by 16 inputs. With four
// inputs, rows of 2,048 weights lie 8 KB apart and evict each other from the first-level cache,
// which doubled that product's time. From memory five rows read 32.0 GB/s, packed ones 32.3 (two
// threads, Zen 4). From the second-level cache on Emerald Rapids the product is limited by
// arithmetic: 22 GB/s per core, packed 55. Tried and not faster: transposing through the
// first-level cache for 24 rows at once.
template <int kRows>
HWY_INLINE void row_major_tile(const Panels& m, const Product& p, int64_t row, int64_t column,
                               int64_t first, bool others_follow) {
  const int64_t in = m.in;
  const float* w = static_cast<const float*>(m.weights) + column * in;
  const float* x = p.x + row * p.x_stride;
  Floats sum[kRows];
  for (int r = 0; r < kRows; ++r) sum[r] = hn::LoadU(kFloats, m.bias + column);
  for (int64_t k = 0; k < in; k += kLanes) {
    Floats squares[4][kLanes / 4];
    for (int i = 0; i < 4; ++i) load_blocks(kFloats, w + i * in + k, in, squares[i]);
    // Prefetches each line of each row once.
    const bool is_within = k + kDistance < in;
    const float* ahead = w + k + kDistance + (is_within ? 0 : (kLanes - 1) * in);
    ahead += k % kMostLanes / 4 * (kLanes / 4) * in;
#pragma GCC unroll 4  // so that the squares stay in registers
    for (int64_t j = 0; j < kLanes / 4; ++j) {
      if (is_within || others_follow) {
        for (int i = 0; i < kLanes / 4; ++i) {
          fetch_to_second_level(ahead + (j * (kLanes / 4) + i) * in);
        }
      }
      transpose_four(kFloats, squares[0][j], squares[1][j], squares[2][j], squares[3][j],
                     [&](Floats weights, int i) HWY_ATTR {
                       for (int r = 0; r < kRows; ++r) {
                         const float input = x[r * p.x_stride + k + 4 * j + i];
                         sum[r] = hn::MulAdd(hn::Set(kFloats, input), weights, sum[r]);
                       }
                     });
    }
  }
  for (int r = 0; r < kRows; ++r) {
    if (p.epilogue == Epilogue::relu) sum[r] = rectified(sum[r]);
    store_from(first, sum[r], column, p.y + (row + r) * p.y_stride - p.y_column);
  }
}

}  // namespace

void multiply_rows_on_target(const Panels& m, const Product& p) {
  over_unpacked_tiles<kMostRows>(
      m, p,
      [&](auto rows, int64_t row, int64_t column, int64_t first, bool others_follow) HWY_ATTR {
        row_major_tile<decltype(rows)::value>(m, p, row, column, first, others_follow);
      });
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(multiply_rows_on_target);

void multiply_rows(const Panels& m, const Product& p) {
  HWY_DYNAMIC_DISPATCH(multiply_rows_on_target)(m, p);
}

}  // namespace residual::kernels
#endif
