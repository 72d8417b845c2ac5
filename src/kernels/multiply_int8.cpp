#include "kernels/multiply.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/multiply_int8.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/instruction_set.h"
#include "kernels/int8.h"
#include "kernels/strips.h"
#include "kernels/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {
namespace {

template <class Element>
HWY_INLINE void store_low_bits(Uints x, Element* q) {
#if HWY_TARGET == HWY_AVX3_DL
  // Highway 1.0.3's TruncateTo takes the wrong bytes on this target.
  _mm_storeu_si128(reinterpret_cast<__m128i*>(q), _mm512_cvtepi32_epi8(x.raw));
#else
  using Bits = std::make_unsigned_t<Element>;
  const hn::Rebind<Bits, decltype(kUints)> out;
  hn::StoreU(hn::TruncateTo(out, x), out, reinterpret_cast<Bits*>(q));
#endif
}

// Finds the largest |x_i| by comparing bits, which order like the numbers, with infinity and NaN
// above all others.
float largest(const float* x, int count) {
  const Ints magnitude = hn::Set(kInts, 0x7FFFFFFF);
  const auto bits = [&](int i) HWY_ATTR {
    return hn::And(hn::BitCast(kInts, hn::LoadU(kFloats, x + i)), magnitude);
  };
  Ints most[2] = {hn::Zero(kInts), hn::Zero(kInts)};
  int i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    most[0] = hn::Max(most[0], bits(i));
    most[1] = hn::Max(most[1], bits(i + kLanes));
  }
  int32_t all = hn::GetLane(hn::MaxOfLanes(kInts, hn::Max(most[0], most[1])));
  for (; i < count; ++i) all = std::max(all, std::bit_cast<int32_t>(std::fabs(x[i])));
  return std::bit_cast<float>(all);
}

// Quantises a row to `depth` groups; returns its scale, NaN if x is not finite.
template <class A>
float quantize_row(const float* x, int count, int64_t depth, typename A::Element* q) {
  using Element = typename A::Element;
  constexpr int kOffset = A::kOffset;
  const float most = largest(x, count);
  // Below this limit, 127 / most would overflow; such a row counts as zero, because its products
  // are negligible in any float32 sum.
  constexpr float kSmallest = 1e-30F;
  const bool usable = most > kSmallest && std::isfinite(most);
  if (!usable) {
    std::fill_n(q, depth * A::kGroup, Element{kOffset});
    return std::isfinite(most) ? 0 : std::numeric_limits<float>::quiet_NaN();
  }
  const float inverse = 127 / most;
  // Adding kRound rounds to an integer and leaves it, with the offset, in the low bits.
  constexpr float kRound = 0x1.8p23F + kOffset;
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Floats scaled = hn::Mul(hn::LoadU(kFloats, x + i), hn::Set(kFloats, inverse));
    const Floats rounded = hn::Add(scaled, hn::Set(kFloats, kRound));
    store_low_bits(hn::BitCast(kUints, rounded), q + i);
  }
  for (; i < count; ++i) q[i] = static_cast<Element>(std::lrint(x[i] * inverse) + kOffset);
  std::fill(q + i, q + depth * A::kGroup, Element{kOffset});
  return most / 127;
}

// Scales a vector of sums into columns of y from `column` on, before the epilogue. It rounds twice
// instead of using a fused operation, so that CPUs without fused operations give the same bits.
HWY_INLINE Floats scaled(Ints sum, const Panels& m, int64_t column, float x_scale) {
  const Floats scale = hn::LoadU(kFloats, m.scales + column);
  const Floats bias = hn::LoadU(kFloats, m.bias + column);
  const Floats both = hn::Mul(scale, hn::Set(kFloats, x_scale));
  return hn::Add(hn::Mul(hn::ConvertTo(kFloats, sum), both), bias);
}

template <class A, class S>
HWY_NOINLINE void int8_tile(const Panels& m, const Product& p, const Quantized& q, int64_t row,
                            int64_t column, const Ahead& ahead) {
  constexpr int64_t kRow = kPanel * A::kGroup;  // bytes of a group of a panel
  const int8_t* const first = static_cast<const int8_t*>(m.weights) +
                              column / kPanel * q.steps * A::kGroups * kRow +
                              column % kPanel * A::kGroup;
  const int8_t* w = first;
  const auto weights = [&](int64_t group, int v) HWY_ATTR {
    return A::load_weights(w + group * kRow + v * kLanes * A::kGroup);
  };
  const int32_t* const x = q.words + row * q.stride;
  const Tile<S> y(p, row, column, m.out - column);
  for (int64_t i = 0; i < y.kLines; ++i) y.fetch(i);
  Ints sum[S::rows][S::vectors];
  const auto over = [](const auto& call) HWY_ATTR {
#pragma GCC unroll 16  // so that the sums stay in registers
    for (int r = 0; r < S::rows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < S::vectors; ++v) call(r, v);
    }
  };
  over([&](int r, int v) HWY_ATTR { sum[r][v] = A::start(m, column + v * kLanes); });
  Fetcher fetcher(ahead);
  for (int64_t k = 0; k < q.steps; ++k, w += A::kGroups * kRow) {
    for (int64_t g = 0; g < A::kGroups; ++g) {
      fetcher.step<S::width * A::kGroup, kRow>(A::kGroups * k + g, w + g * kRow);
    }
    A::template add<S>(x + k * A::kWords, q.stride, weights, sum);
  }
  if (A::has_rest(q, row, S::rows)) {
    w = first;
    HWY_ALIGN float all[S::rows * S::width];
    const auto at = [&](int64_t r, int v) HWY_ATTR { return all + r * S::width + v * kLanes; };
    over([&](int r, int v)
             HWY_ATTR { hn::Store(hn::BitCast(kFloats, sum[r][v]), kFloats, at(r, v)); });
    A::template add_rest<S>(q, row, 0, q.steps, weights, at);
    over([&](int r, int v)
             HWY_ATTR { sum[r][v] = hn::BitCast(kInts, hn::Load(kFloats, at(r, v))); });
  }
  y.store([&](int r, int v) HWY_ATTR __attribute__((always_inline)) {
    return scaled(sum[r][v], m, column + v * kLanes, q.scales[row + r]);
  });
}

#if HWY_TARGET == HWY_AVX3_DL
// Rows of x per tile: their sums and a square of weights fill the registers.
constexpr int kMostRows = 8;

// Of weights that are not in panels: rows [row, row + kRows) by columns [column, column + kLanes)
// of y, of which those before `first` are not stored. Squares of 16 rows by 16 words of four inputs
// are transposed in registers, as float32 is, and the sums of weights that the offset of x needs
// are computed on the way; the next rows, which `others_follow`, are fetched meanwhile.
//
// The product takes 1.5 times as long as a packed one, but packing takes new memory, as much as the
// whole model: a process printed its first line after 86 ms instead of 105, and after 91 instead of
// 164 when it started seconds after the previous one (base, 25 tokens, Ice Lake, c435786). This
// needs VNNI; elsewhere int8 is packed at load.
template <int kRows>
HWY_NOINLINE void int8_rows_tile(const Panels& m, const Product& p, const Quantized& q, int64_t row,
                                 int64_t column, int64_t first, bool others_follow) {
  const auto* w =
      reinterpret_cast<const int32_t*>(static_cast<const int8_t*>(m.weights) + column * m.in);
  const int32_t* x = q.words + row * q.stride;
  Ints sum[kRows], correction = hn::Zero(kInts);
  for (int r = 0; r < kRows; ++r) sum[r] = hn::Zero(kInts);
  const Ints offsets = hn::Set(kInts, std::bit_cast<int32_t>(0x80808080U));
  for (int64_t k = 0; k < q.stride; k += kLanes) {
    Ints squares[4][kLanes / 4];
    for (int i = 0; i < 4; ++i) load_blocks(kInts, w + i * q.stride + k, q.stride, squares[i]);
    const int32_t* const ahead = w + kLanes * q.stride + k * kLanes;
#pragma GCC unroll 4  // so that the squares stay in registers
    for (int64_t j = 0; j < kLanes / 4; ++j) {
      if (others_follow) {
        for (int i = 0; i < 4; ++i) fetch_to_second_level(ahead + (4 * j + i) * kLanes);
      }
      transpose_four(kInts, squares[0][j], squares[1][j], squares[2][j], squares[3][j],
                     [&](Ints weights, int i) HWY_ATTR {
                       correction = Vnni::dot(offsets, weights, correction);
                       for (int r = 0; r < kRows; ++r) {
                         const Ints word = hn::Set(kInts, x[r * q.stride + k + 4 * j + i]);
                         sum[r] = Vnni::dot(word, weights, sum[r]);
                       }
                     });
    }
  }
  for (int r = 0; r < kRows; ++r) {
    Floats y = scaled(hn::Sub(sum[r], correction), m, column, q.scales[row + r]);
    if (p.epilogue == Epilogue::relu) y = rectified(y);
    store_from(first, y, column, p.y + (row + r) * p.y_stride - p.y_column);
  }
}
#endif

// The int8 products of multiply_strips().
template <class A>
struct Int8Strips {
  using Word = int32_t;
  static constexpr auto kTag = kInts;
  static constexpr int kRows = A::kGroups == 1 ? kTileRows : 4;
  static constexpr int kGroups = A::kGroups, kWords = A::kWords;
  static constexpr int64_t kGroupBytes = A::kGroup;

  HWY_INLINE Ints start(int64_t column) const { return A::start(m, column); }
  template <class S>
  static HWY_INLINE void add(const int32_t* x, int64_t stride, const int32_t* w,
                             Ints (&sum)[S::rows][S::vectors]) {
    A::template add<S>(x, stride, weights<S>(w), sum);
  }
  HWY_INLINE bool has_rest(int64_t row, int64_t rows) const { return A::has_rest(q, row, rows); }
  template <class S>
  HWY_INLINE void add_rest(const Slice& slice, int64_t row, const int32_t* w,
                           const StripTile<S>& y) const {
    A::template add_rest<S>(q, row, slice.begin, slice.steps, weights<S>(w),
                            [&](int64_t r, int v) HWY_ATTR { return y.at(r, v); });
  }
  HWY_INLINE Floats finish(Ints sum, int64_t row, int64_t column) const {
    return scaled(sum, m, column, q.scales[row]);
  }
  static HWY_INLINE Ints widen(const std::byte* from) {
    return A::load_weights(reinterpret_cast<const int8_t*>(from));
  }

  const Panels& m;
  const Quantized& q;
  const int32_t* x = q.words;
  int64_t stride = q.stride;

 private:
  template <class S>
  static HWY_INLINE auto weights(const int32_t* w) {
    return [w](int64_t group, int v)
               HWY_ATTR { return hn::Load(kInts, w + group * S::width + v * kLanes); };
  }
};

constexpr Int8Layout kLayout =
#if HWY_TARGET == HWY_AVX2
    {.group = Bytes::kGroup, .groups = Bytes::kGroups};
#elif HWY_TARGET == HWY_AVX3_DL
    {.group = Vnni::kGroup, .fits_unpacked = true};
#else
    {.group = Pairs::kGroup};
#endif

// Memory of the calling thread for what a Quantized refers to.
struct Memory {
  std::vector<int32_t> words, begins;
  std::vector<float> scales;
  std::vector<Rest> rest;
  std::vector<int8_t> row;
};

template <class A>
Quantized quantize_rows(const Panels& m, const Product& p) {
  thread_local Memory memory;
  const int64_t depth = kLayout.depth(m.in);
  const int64_t steps = depth / A::kGroups, stride = steps * A::kWords;
  const auto at_least = [](auto& list, int64_t size) {
    if (static_cast<int64_t>(list.size()) < size) list.resize(size);
  };
  at_least(memory.words, p.rows * stride);
  at_least(memory.scales, p.rows);
  if constexpr (A::kGroups > 1) {
    at_least(memory.begins, p.rows + 1);
    memory.rest.clear();
    memory.row.assign(A::row_bytes(steps), 0);
  }
  for (int64_t row = 0; row < p.rows; ++row) {
    int32_t* const words = memory.words.data() + row * stride;
    const float* const x = p.x + row * p.x_stride;
    if constexpr (A::kGroups > 1) {
      memory.scales[row] = quantize_row<A>(x, m.in, depth, memory.row.data());
      A::arrange(memory.row.data(), steps, static_cast<int32_t>(row), words, memory.rest);
      memory.begins[row + 1] = static_cast<int32_t>(memory.rest.size());
    } else {
      auto* const elements = reinterpret_cast<typename A::Element*>(words);
      memory.scales[row] = quantize_row<A>(x, m.in, depth, elements);
    }
  }
  return {.words = memory.words.data(),
          .stride = stride,
          .steps = steps,
          .scales = memory.scales.data(),
          .rest = memory.rest.data(),
          .begins = memory.begins.data()};
}

template <class A>
void multiply_int8_by(const Panels& m, const Product& p) {
  const Quantized q = quantize_rows<A>(m, p);
  if constexpr (!kHasManyRegisters) {
    constexpr int64_t kManyRows = 24;
    if (p.rows >= kManyRows) return multiply_strips(Int8Strips<A>{m, q}, m, p, q.steps);
  }
  const int64_t groups = q.steps * A::kGroups;
  const int64_t x_bytes = q.stride * int64_t{sizeof(int32_t)};
  const int64_t panel_bytes = groups * kPanel * A::kGroup;
  const auto tile = [&](auto shape, int64_t row, int64_t column, const Ahead& ahead)
                        HWY_ATTR { int8_tile<A, decltype(shape)>(m, p, q, row, column, ahead); };
  if constexpr (A::kGroups == 1) {
    over_tiles(m, p, x_bytes, panel_bytes, groups, tile);
  } else if (p.rows == 1) {
    over_tiles<1, 8>(m, p, x_bytes, panel_bytes, groups, tile);
  } else {
    over_tiles<4, 2>(m, p, x_bytes, panel_bytes, groups, tile);
  }
}

}  // namespace

Int8Layout int8_layout_on_target() { return kLayout; }

#if HWY_TARGET == HWY_AVX2
void multiply_int8_on_target(const Panels& m, const Product& p) {
  has_avx_vnni() ? multiply_int8_by<Vnni>(m, p) : multiply_int8_by<Bytes>(m, p);
}
#elif HWY_TARGET == HWY_AVX3_DL
void multiply_int8_on_target(const Panels& m, const Product& p) { multiply_int8_by<Vnni>(m, p); }
#else
void multiply_int8_on_target(const Panels& m, const Product& p) { multiply_int8_by<Pairs>(m, p); }
#endif

void multiply_int8_rows_on_target(const Panels& m, const Product& p) {
#if HWY_TARGET == HWY_AVX3_DL
  const Quantized q = quantize_rows<Vnni>(m, p);
  over_unpacked_tiles<kMostRows>(
      m, p,
      [&](auto rows, int64_t row, int64_t column, int64_t first, bool others_follow) HWY_ATTR {
        int8_rows_tile<decltype(rows)::value>(m, p, q, row, column, first, others_follow);
      });
#else
  static_cast<void>(m), static_cast<void>(p);
  std::abort();  // unreachable: fits_unpacked() excludes such weights
#endif
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(int8_layout_on_target);
HWY_EXPORT(multiply_int8_on_target);
HWY_EXPORT(multiply_int8_rows_on_target);

Int8Layout int8_layout() { return HWY_DYNAMIC_DISPATCH(int8_layout_on_target)(); }

void multiply_int8(const Panels& m, const Product& p) {
  HWY_DYNAMIC_DISPATCH(multiply_int8_on_target)(m, p);
}

void multiply_int8_rows(const Panels& m, const Product& p) {
  HWY_DYNAMIC_DISPATCH(multiply_int8_rows_on_target)(m, p);
}

}  // namespace residual::kernels
#endif
