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

// How far ahead of its use a row's weights are fetched, in elements: 16 lines. The CPU does not do
// so by itself where many rows are read side by side.
constexpr int64_t kDistance = 256;

// Four elements of rows 0, 4, 8 ... from `w` on, a block of four lanes each.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* w, int64_t stride) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, w);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, w + hn::MaxLanes(half) * stride, stride),
                       load_blocks(half, w, stride));
  }
}

// Rows [row, row + kRows) by columns [column, column + kLanes) of y; those before `first` are
// computed, but not stored. Four inputs at a time, a square of weights is transposed in registers.
// `others_follow`: the next rows of weights are used next.
template <int kRows>
HWY_INLINE void row_major_tile(const Panels& m, const Product& p, int64_t row, int64_t column,
                               int64_t first, bool others_follow) {
  const int64_t in = m.in;
  const float* w = static_cast<const float*>(m.weights) + column * in;
  const float* x = p.x + row * p.x_stride;
  Floats sum[kRows];
  for (int r = 0; r < kRows; ++r) sum[r] = hn::LoadU(kFloats, m.bias + column);
  for (int64_t k = 0; k < in; k += 4) {
    // Each step a quarter of the rows: all of them once in the 16 inputs of a line.
    const bool is_within = k + kDistance < in;
    if (is_within || others_follow) {
      const float* ahead = w + k + kDistance + (is_within ? 0 : (kLanes - 1) * in);
      for (int64_t i = 0; i < kLanes / 4; ++i) {
        __builtin_prefetch(ahead + (k / 4 % 4 * (kLanes / 4) + i) * in, 0, 2);
      }
    }
    Floats weights[4];
    const auto block = [&](int64_t r) HWY_ATTR { return load_blocks(kFloats, w + r * in + k, in); };
    transpose_four(kFloats, block(0), block(1), block(2), block(3),
                   [&](Floats v, int i) HWY_ATTR { weights[i] = v; });
    for (int i = 0; i < 4; ++i) {
      for (int r = 0; r < kRows; ++r) {
        sum[r] = hn::MulAdd(hn::Set(kFloats, x[r * p.x_stride + k + i]), weights[i], sum[r]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    if (p.epilogue == Epilogue::relu) sum[r] = rectified(sum[r]);
    float* y = p.y + (row + r) * p.y_stride + first - p.y_column;
    if (first == column) {
      hn::StoreU(sum[r], kFloats, y);
    } else {
      HWY_ALIGN float all[kLanes];
      hn::Store(sum[r], kFloats, all);
      std::copy(all + first - column, all + kLanes, y);
    }
  }
}

}  // namespace

void multiply_rows_on_target(const Panels& m, const Product& p) {
  const int64_t end = std::min<int64_t>(int64_t{kPanel} * p.last_panel, m.out);
  for (int64_t first = int64_t{kPanel} * p.first_panel; first < end; first += kLanes) {
    const int64_t column = std::min<int64_t>(first, m.out - kLanes);
    for (int64_t row = 0; row < p.rows; row += kTileRows) {
      const bool others_follow = first + kLanes < end && row + kTileRows >= p.rows;
      call_tile<kTileRows>(std::min<int64_t>(kTileRows, p.rows - row), row, column, Ahead(),
                           [&](auto rows, int64_t at, int64_t, const Ahead&) HWY_ATTR {
                             row_major_tile<decltype(rows)::value>(m, p, at, column, first,
                                                                   others_follow);
                           });
    }
  }
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
