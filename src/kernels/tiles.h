// Cuts a product into tiles and turns a tile of sums into a tile of y; shared by the float and int8
// products. Included inside each pass of hwy/foreach_target.h, so its guard toggles.
//
// The panel layout makes columns of y the lanes of a vector: a tile keeps a few rows by a few
// vectors of y in registers and walks the inputs once, each step one broadcast element of x per row
// and one vector of weights per column vector. The order in which an element is summed does not
// depend on its tile.
#if defined(RESIDUAL_KERNELS_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RESIDUAL_KERNELS_TILES_H
#undef RESIDUAL_KERNELS_TILES_H
#else
#define RESIDUAL_KERNELS_TILES_H
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/matrix.h"
#include "kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {

// A tile of y: rows by vectors of columns.
template <int kRows, int kVectors>
struct Shape {
  static constexpr int rows = kRows, vectors = kVectors;
  static constexpr int64_t width = kVectors * kLanes;
};

// The sums use most registers: 24 of 32, or 12 of 16. With 16 registers six rows by two vectors
// need half as many bytes of weights as three by four, and a few rows alone take wider tiles.
constexpr bool kHasManyRegisters = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64;
constexpr int kTileRows = 6;
// Groups of weights of each column that strips.h multiplies in one pass: 32 KB with AVX2.
constexpr int64_t kSliceGroups = 512;
// The size of a block of rows of x, which passes all panels before the next block starts. Beside
// two panels of weights, it stays in the second-level cache.
constexpr int64_t kBlockBytes = 384 << 10;

// A product of few rows has no other tile to hide the latency behind, so it prefetches its own
// weights this far ahead, into the second-level cache, which has more outstanding lines than the
// first. Two threads that multiply five rows from memory read 38 GB/s this way on Zen 4, 27 GB/s
// with 4 KB into the first level, and 40 GB/s without software prefetching. Ice Lake needs it:
// single sentences of base are 1.25 (float32), 1.31 (float16) and 1.18 (int8) times as fast with
// 4 KB into the first level (223ebb3); 8 KB was not measured there.
//
// Tried on Ice Lake and dropped: prefetching the next panel from four places. A product alone went
// from 10.8 to 13.4 GB/s per core, but whole sentences gained 2 % (float32) and 9 % (int8), and
// products from the third-level cache lost up to a fifth.
constexpr int64_t kFetchDistance = 8192;
// With 16 registers a step takes five cycles or fewer and reads a part of a panel's row: 32 steps
// ahead, weights from memory had not arrived, and half of the speed was lost (Zen 4).
constexpr int64_t kFetchSteps = 128;
HWY_INLINE void fetch_to_second_level(const void* line) { __builtin_prefetch(line, 0, 2); }

// The part of the next panel's weights that a tile prefetches while it multiplies with this
// panel's, evenly over its steps. A decoder's weights exceed every cache and come from memory at
// each step; with hardware prefetching alone the first tile of each panel waits for them. They are
// fetched into the first-level cache, from where they fall into the second: on Zen 4, lines
// prefetched into the second level alone had not arrived when they were needed.
struct Ahead {
  const std::byte* weights = nullptr;
  int64_t lines = 0;
  int64_t interval = 1;  // steps between two lines, spread evenly over the tile
  // One of few tiles, which wait for memory: prefetches its own weights, and with 16 registers the
  // first of the next tile, which are then `weights`, after `steps`.
  bool is_first = false;
  int64_t steps = 0;
};
class Fetcher {
 public:
  explicit Fetcher(const Ahead& ahead)
      : is_first_(ahead.is_first),
        next_(ahead.lines > 0 ? 0 : -1),
        interval_(ahead.interval),
        steps_(ahead.steps),
        line_(ahead.weights) {}

  // REQUIRES: called for each step of the tile in order; a step reads kBytes of weights from w on,
  // and the next step's are kStride bytes after them.
  template <int64_t kBytes, int64_t kStride>
  HWY_INLINE void step(int64_t k, const void* w) {
    if (is_first_) {
      const auto* own = static_cast<const std::byte*>(w);
      if constexpr (kHasManyRegisters) {
        own += kFetchDistance;
      } else {
        const int64_t beyond = k + kFetchSteps - steps_;
        own = beyond < 0 ? own + kFetchSteps * kStride : line_ + beyond * kStride;
      }
      for (int64_t i = 0; i < kBytes; i += kCacheLine) fetch_to_second_level(own + i);
    }
    if (k != next_) return;
    hwy::Prefetch(line_);
    line_ += kCacheLine;
    next_ += interval_;
  }

 private:
  bool is_first_;
  int64_t next_, interval_, steps_;
  const std::byte* line_;
};

// Replaces negative values by zero and keeps NaN.
HWY_INLINE Floats rectified(Floats x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(kFloats)), x);
}

// A tile of y. `columns` may be fewer than its vectors hold; the rest is padding of the weights.
template <class S>
class Tile {
  static constexpr int64_t kRowLines =
      (S::width * int64_t{sizeof(float)} + kCacheLine - 1) / int64_t{kCacheLine};

 public:
  static constexpr int64_t kLines = S::rows * kRowLines;

  HWY_INLINE Tile(const Product& p, int64_t row, int64_t column, int64_t columns)
      : y_(p.y + row * p.y_stride + column - p.y_column),
        stride_(p.y_stride),
        columns_(std::min(columns, S::width)),
        epilogue_(p.epilogue) {}

  // Prefetches line i of the tile, which is written when the sums are complete; i is below kLines.
  HWY_INLINE void fetch(int64_t i) const {
    hwy::Prefetch(y_ + i / kRowLines * stride_ + i % kRowLines * (kCacheLine / sizeof(float)));
  }

  // Stores the tile; value(r, v) returns vector v of row r.
  template <class Value>
  HWY_INLINE void store(const Value& value) const {
    if (columns_ == S::width) return finish(y_, stride_, value);
    HWY_ALIGN float tile[S::rows * S::width] = {};
    for (int r = 0; r < S::rows; ++r) {
      std::copy_n(y_ + r * stride_, columns_, tile + r * S::width);
    }
    finish(tile, S::width, value);
    for (int r = 0; r < S::rows; ++r) {
      std::copy_n(tile + r * S::width, columns_, y_ + r * stride_);
    }
  }

 private:
  template <class Value>
  HWY_INLINE void finish(float* y, int64_t stride, const Value& value) const {
    const Indices indices;
    if (epilogue_ == Epilogue::none) return finish<Epilogue::none>(y, stride, value, indices);
    finish<Epilogue::relu>(y, stride, value, indices);
  }

  // This is unrolled by hand, because with a loop the compiler keeps the sums in memory.
  template <Epilogue kEpilogue, class Value, int... kIndex>
  static HWY_INLINE void finish(float* y, int64_t stride, const Value& value,
                                std::integer_sequence<int, kIndex...>) {
    (finish<kEpilogue>(value(kIndex / S::vectors, kIndex % S::vectors),
                       y + kIndex / S::vectors * stride + kIndex % S::vectors * kLanes),
     ...);
  }

  template <Epilogue kEpilogue>
  static HWY_INLINE void finish(Floats x, float* y) {
    hn::StoreU(kEpilogue == Epilogue::relu ? rectified(x) : x, kFloats, y);
  }

  using Indices = std::make_integer_sequence<int, S::rows * S::vectors>;

  float* y_;
  int64_t stride_;
  int64_t columns_;
  Epilogue epilogue_;
};

// Writes a vector, whose lanes are columns from `column` on, to the row `y`, except columns before
// `first`.
HWY_INLINE void store_from(int64_t first, Floats x, int64_t column, float* y) {
  if (first == column) return hn::StoreU(x, kFloats, y + column);
  HWY_ALIGN float all[kLanes];
  hn::Store(x, kFloats, all);
  std::copy(all + first - column, all + kLanes, y + first);
}

template <int kRows>
using Rows = std::integral_constant<int, kRows>;

// Calls tile(Rows<rows>(), row). REQUIRES: 1 <= rows <= kRows.
template <int kRows, class Call>
HWY_INLINE void call_tile(int64_t rows, int64_t row, const Call& tile) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return call_tile<kRows - 1>(rows, row, tile);
  }
  tile(Rows<kRows>(), row);
}

// Calls tile(Rows<n>(), row), n <= kMostRows, for rows [begin, end) in order, in tiles of nearly
// equal size, because a tile of one or two rows would wait for its weights.
template <int kMostRows, class Call>
HWY_INLINE void over_rows(int64_t begin, int64_t end, const Call& tile) {
  for (int64_t row = begin; row < end;) {
    const int64_t left = end - row, count = (left + kMostRows - 1) / kMostRows;
    const int64_t rows = (left + count - 1) / count;
    call_tile<kMostRows>(rows, row, tile);
    row += rows;
  }
}

// Calls tile(Rows<n>(), row, column, first, others_follow), n <= kMostRows, for all tiles of a
// product with unpacked weights: kLanes columns from `column` on, of which those before `first`
// belong to another tile. `others_follow`: the product continues with the next rows of weights.
template <int kMostRows, class Call>
HWY_INLINE void over_unpacked_tiles(const Panels& m, const Product& p, const Call& tile) {
  const int64_t end = std::min<int64_t>(int64_t{kPanel} * p.last_panel, m.out);
  for (int64_t first = int64_t{kPanel} * p.first_panel; first < end; first += kLanes) {
    const int64_t column = std::min<int64_t>(first, m.out - kLanes);
    over_rows<kMostRows>(0, p.rows, [&](auto rows, int64_t row) HWY_ATTR {
      tile(rows, row, column, first, first + kLanes < end && row + rows == p.rows);
    });
  }
}

// Calls tile(Shape<n, kVectors>(), row, column, ahead), n <= kMostRows, for all tiles of a product.
// The arguments give the bytes of a row of x and of a panel of weights, and the steps of a tile.
template <int kMostRows, int kVectors, class Call>
HWY_INLINE void over_tiles(const Panels& m, const Product& p, int64_t x_bytes, int64_t panel_bytes,
                           int64_t steps, const Call& tile) {
  constexpr int64_t kWidth = kVectors * kLanes;
  const int64_t row_block = std::max<int64_t>(kBlockBytes / x_bytes / kMostRows, 1) * kMostRows;
  const int64_t last_column = std::min<int64_t>(int64_t{kPanel} * p.last_panel, m.out);
  for (int64_t block = 0; block < p.rows; block += row_block) {
    const int64_t last_row = std::min(p.rows, block + row_block);
    const int64_t tiles = (last_row - block + kMostRows - 1) / kMostRows;
    for (int64_t column = int64_t{kPanel} * p.first_panel; column < last_column; column += kWidth) {
      const int64_t panel = column / kPanel;
      int64_t lines = panel_bytes / (tiles * (kPanel / kWidth) * int64_t{kCacheLine});
      const bool is_few = tiles < 4;
      if (is_few || (panel + 1) * kPanel >= m.out) lines = 0;
      const int64_t step_bytes = panel_bytes / steps;
      const auto* const weights = static_cast<const std::byte*>(m.weights);
      const int64_t next = column + kWidth;
      Ahead ahead = {weights + (panel + 1) * panel_bytes + panel_bytes * (column % kPanel) / kPanel,
                     lines, std::max<int64_t>(steps / std::max<int64_t>(lines, 1), 1), is_few,
                     steps};
      if (is_few) {
        ahead.weights = weights + next / kPanel * panel_bytes + next % kPanel * step_bytes / kPanel;
      }
      over_rows<kMostRows>(block, last_row, [&](auto rows, int64_t row) HWY_ATTR {
        tile(Shape<decltype(rows)::value, kVectors>(), row, column, ahead);
        ahead.weights += lines * int64_t{kCacheLine};
        ahead.is_first = false;
      });
    }
  }
}

// The same with the shapes that suit the number of rows and of registers.
template <class Call>
HWY_INLINE void over_tiles(const Panels& m, const Product& p, int64_t x_bytes, int64_t panel_bytes,
                           int64_t steps, const Call& tile) {
  if constexpr (kHasManyRegisters) {
    over_tiles<kTileRows, 4>(m, p, x_bytes, panel_bytes, steps, tile);
  } else if (p.rows == 1) {
    over_tiles<1, 8>(m, p, x_bytes, panel_bytes, steps, tile);
  } else if (p.rows <= 3) {
    over_tiles<3, 4>(m, p, x_bytes, panel_bytes, steps, tile);
  } else {
    over_tiles<kTileRows, 2>(m, p, x_bytes, panel_bytes, steps, tile);
  }
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
