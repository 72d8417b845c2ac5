// Products of many rows on CPUs with 16 vector registers; shared by the float and int8 products.
// Included inside each pass of hwy/foreach_target.h, so its guard toggles.
//
// A tile of six rows by two vectors takes 64 bytes of weights a step (AVX2), every fourth line of a
// float32 panel; these lines compete for a quarter of the first-level cache. So a strip of a panel,
// two vectors wide, is copied into consecutive memory before the rows pass it, and 8 and 16-bit
// weights are widened on the way. It is multiplied in slices of 512 inputs, so that a block of rows
// of x stays beside it in a second-level cache of 512 KB at any number of inputs; slices of longer
// rows are copied too, because they would compete for a part of that cache. Sums that are not
// complete wait in y; they are the same, bit for bit.
//
// Of 160 rows by 512x2048, simulated caches of Zen 3 (32 KB, 512 KB) miss 2.2 and 0.8 million lines
// without the copies of x; tiles of three rows by four vectors in whole panels missed 3.9 and 1.9.
#if defined(RESIDUAL_KERNELS_STRIPS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RESIDUAL_KERNELS_STRIPS_H
#undef RESIDUAL_KERNELS_STRIPS_H
#else
#define RESIDUAL_KERNELS_STRIPS_H
#endif

#include <algorithm>
#include <cstdint>

#include "kernels/scratch.h"
#include "kernels/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {

constexpr int kStripVectors = 2;
constexpr int64_t kStripWidth = kStripVectors * kLanes;

// The inputs of a strip that are multiplied in one pass. A step is a float of each row, or what an
// arithmetic of int8 takes.
struct Slice {
  int64_t begin = 0, steps = 0;
  bool is_first = false, is_last = false;
};

// A tile of y, or a copy of one with fewer columns than its vectors hold.
template <class S>
class StripTile {
 public:
  StripTile(const Panels& m, const Product& p, int64_t row, int64_t column)
      : y_(p.y + row * p.y_stride + column - p.y_column),
        y_stride_(p.y_stride),
        columns_(std::min(m.out - column, S::width)),
        is_whole_(columns_ == S::width),
        base_(is_whole_ ? y_ : copy_),
        stride_(is_whole_ ? y_stride_ : S::width) {
    for (int r = 0; r < S::rows; ++r) hwy::Prefetch(y_ + r * y_stride_);
  }

  HWY_INLINE float* at(int64_t r, int v) const { return base_ + r * stride_ + v * kLanes; }
  void load() {
    if (is_whole_) return;
    std::fill_n(copy_, S::rows * S::width, 0.0F);
    for (int r = 0; r < S::rows; ++r) std::copy_n(y_ + r * y_stride_, columns_, at(r, 0));
  }
  void store() {
    if (is_whole_) return;
    for (int r = 0; r < S::rows; ++r) std::copy_n(at(r, 0), columns_, y_ + r * y_stride_);
  }

 private:
  HWY_ALIGN float copy_[S::rows * S::width];
  float* y_;
  int64_t y_stride_, columns_;
  bool is_whole_;
  float* base_;
  int64_t stride_;
};

// Rows from `row` on by columns from `column` on of y, the part of the sums that the slice has.
// `x` are the words of the slice, in rows of `stride`. `Kind` provides the arithmetic:
//   Word, kTag, kRows          the words of 32 bits, vectors of them, and the rows of a tile
//   kGroups, kWords            groups of weights and words of x in a step
//   start(column)              the sums' first values
//   add<S>(x, stride, w, sum)  adds a step
//   has_rest, add_rest         whether more than the steps is to be added to a tile, and adding it
//   finish(sum, row, column)   y before the epilogue
//   kGroupBytes, widen(from)   a column's bytes in a group, and a vector of words from them
template <class S, class Kind>
HWY_NOINLINE void strip_tile(const Kind& kind, const Panels& m, const Product& p,
                             const typename Kind::Word* x, int64_t stride,
                             const typename Kind::Word* w, const Slice& slice, int64_t row,
                             int64_t column) {
  constexpr auto kTag = Kind::kTag;
  const auto over = [](const auto& call) HWY_ATTR {
#pragma GCC unroll 16  // so that the sums stay in registers
    for (int r = 0; r < S::rows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < S::vectors; ++v) call(r, v);
    }
  };
  StripTile<S> y(m, p, row, column);
  hn::Vec<decltype(Kind::kTag)> sum[S::rows][S::vectors];
  const auto load = [&]() HWY_ATTR {
    over([&](int r, int v)
             HWY_ATTR { sum[r][v] = hn::BitCast(kTag, hn::LoadU(kFloats, y.at(r, v))); });
  };
  const auto store = [&](const auto& value) HWY_ATTR {
    over([&](int r, int v) HWY_ATTR { hn::StoreU(value(r, v), kFloats, y.at(r, v)); });
  };
  const auto bits = [&](int r, int v) HWY_ATTR { return hn::BitCast(kFloats, sum[r][v]); };
  if (slice.is_first) {
    over([&](int r, int v) HWY_ATTR { sum[r][v] = kind.start(column + v * kLanes); });
  } else {
    y.load();
    load();
  }
  for (int64_t k = 0; k < slice.steps; ++k) {
    kind.template add<S>(x + k * Kind::kWords, stride, w + k * S::width * Kind::kGroups, sum);
  }
  if (kind.has_rest(row, S::rows)) {
    store(bits);
    kind.template add_rest<S>(slice, row, w, y);
    load();
  }
  if (slice.is_last) {
    const bool is_rectified = p.epilogue == Epilogue::relu;
    store([&](int r, int v) HWY_ATTR {
      const Floats value = kind.finish(sum[r][v], row + r, column + v * kLanes);
      return is_rectified ? rectified(value) : value;
    });
  } else {
    store(bits);
  }
  y.store();
}

// Multiplies all rows of words kind.x [rows, kind.stride] in `depth` steps.
template <class Kind>
HWY_INLINE void multiply_strips(const Kind& kind, const Panels& m, const Product& p,
                                int64_t depth) {
  using Word = typename Kind::Word;
  constexpr int64_t kAlignment = kCacheLine / sizeof(Word);
  static_assert(sizeof(Word) == sizeof(float));
  constexpr int64_t kStripSize = kSliceGroups * kStripWidth;
  constexpr int64_t kSliceSteps = kSliceGroups / Kind::kGroups;
  constexpr int64_t kRowBytes = kPanel * Kind::kGroupBytes;  // of a group
  auto* strip = reinterpret_cast<Word*>(
      thread_scratch(kStripSize + kBlockBytes / int64_t{sizeof(Word)} + kAlignment));
  strip += -reinterpret_cast<uintptr_t>(strip) % kCacheLine / sizeof(Word);
  Word* const copied = strip + kStripSize;  // of x
  const int64_t last_column = std::min<int64_t>(int64_t{kPanel} * p.last_panel, m.out);
  const int64_t most_words = std::min(depth, kSliceSteps) * Kind::kWords;  // of a row
  const int64_t most_rows =
      kBlockBytes / (most_words * int64_t{sizeof(Word)}) / Kind::kRows * Kind::kRows;
  for (Slice slice; slice.begin < depth; slice.begin += kSliceSteps) {
    slice.steps = std::min(kSliceSteps, depth - slice.begin);
    slice.is_first = slice.begin == 0;
    slice.is_last = slice.begin + slice.steps == depth;
    const int64_t groups = slice.steps * Kind::kGroups, words = slice.steps * Kind::kWords;
    const auto weights = [&](int64_t column) {
      return static_cast<const std::byte*>(m.weights) +
             (column / kPanel * depth + slice.begin) * Kind::kGroups * kRowBytes +
             column % kPanel * Kind::kGroupBytes;
    };
    for (int64_t block = 0; block < p.rows; block += most_rows) {
      const int64_t last_row = std::min(p.rows, block + most_rows);
      const Word* x = kind.x + block * kind.stride + slice.begin * Kind::kWords;
      int64_t stride = kind.stride;
      if (depth > kSliceSteps) {
        for (int64_t r = 0; r < last_row - block; ++r) {
          std::copy_n(x + r * stride, words, copied + r * words);
        }
        x = copied;
        stride = words;
      }
      for (int64_t column = int64_t{kPanel} * p.first_panel; column < last_column;
           column += kStripWidth) {
        const std::byte* const from = weights(column);
        for (int64_t g = 0; g < groups; ++g) {
          for (int v = 0; v < kStripVectors; ++v) {
            hn::Store(kind.widen(from + g * kRowBytes + v * kLanes * Kind::kGroupBytes), Kind::kTag,
                      strip + g * kStripWidth + v * kLanes);
          }
        }
        // The rows fetch the next strip meanwhile.
        const bool others_follow = column + kStripWidth < last_column;
        const std::byte* next = weights(column + kStripWidth);
        const std::byte* const end = next + (others_follow ? groups * kRowBytes : 0);
        const int64_t lines = (groups * Kind::kRows + last_row - block - 1) / (last_row - block);
        over_rows<Kind::kRows>(block, last_row, [&](auto rows, int64_t row) HWY_ATTR {
          for (int64_t i = 0; i < lines && next < end; ++i, next += kRowBytes) {
            fetch_to_second_level(next);
          }
          using S = Shape<decltype(rows)::value, kStripVectors>;
          strip_tile<S>(kind, m, p, x + (row - block) * stride, stride, strip, slice, row, column);
        });
      }
    }
  }
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
