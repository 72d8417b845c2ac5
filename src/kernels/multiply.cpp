#include "kernels/multiply.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/multiply.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/simd.h"

// The panel layout makes columns of y the lanes of a vector: a tile keeps some rows by some vectors
// of y in registers and walks the inputs once, each step one broadcast element of x per row and one
// vector of weights per column vector. Which tile an element falls into changes nothing about how
// it is summed.
HWY_BEFORE_NAMESPACE();
namespace residual::kernels {
namespace HWY_NAMESPACE {
namespace {

// Sums held in registers: 12 x 2 or 6 x 4 vectors where there are 32 registers, half of it where
// there are 16. Two vectors for many rows (weights are read less often), four for few.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int kTall = 12;
#else
constexpr int kTall = 6;
#endif
constexpr int kFlat = kTall / 2;

// ------------------------------------------------------------------ float32 and float16

HWY_INLINE Floats load(const float* w) { return hn::Load(kFloats, w); }
HWY_INLINE Floats load(const hwy::float16_t* w) {
  return hn::PromoteTo(kFloats, hn::Load(hn::Rebind<hwy::float16_t, decltype(kFloats)>(), w));
}

// One tile's part of a product: inputs [0, depth) of what x and w point at.
template <class Weight>
struct FloatTile {
  const float* x;
  int64_t x_stride;
  const Weight* w;
  int64_t depth;
  const float* bias;  // null: go on from what y holds
  float* y;
  int64_t y_stride;
  int columns;  // of y; the rest of the tile's vectors is padding
  Epilogue epilogue;
};

// Calls store(row pointer, vector index, value) through a buffer if the tile overhangs y.
template <int kRows, int kVectors>
HWY_INLINE void store_tile(const Floats (&sum)[kRows][kVectors], float* y, int64_t y_stride,
                           int columns) {
  if (columns >= kVectors * kLanes) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(sum[r][v], kFloats, y + r * y_stride + v * kLanes);
      }
    }
    return;
  }
  HWY_ALIGN float row[kVectors * kLanes];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[r][v], kFloats, row + v * kLanes);
    std::copy_n(row, columns, y + r * y_stride);
  }
}

template <int kVectors>
HWY_INLINE void load_row(const float* y, int columns, Floats (&out)[kVectors]) {
  HWY_ALIGN float row[kVectors * kLanes] = {};
  if (columns < kVectors * kLanes) {
    std::copy_n(y, columns, row);
    y = row;
  }
  for (int v = 0; v < kVectors; ++v) out[v] = hn::LoadU(kFloats, y + v * kLanes);
}

template <int kRows, int kVectors, class Weight>
void float_tile(const FloatTile<Weight>& t) {
  Floats sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    if (t.bias == nullptr || t.epilogue == Epilogue::add) {
      load_row(t.y + r * t.y_stride, t.columns, sum[r]);
    } else {
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(kFloats);
    }
    if (t.bias == nullptr) continue;
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = hn::Add(sum[r][v], hn::Load(kFloats, t.bias + v * kLanes));
    }
  }
  for (int64_t k = 0; k < t.depth; ++k) {
    Floats w[kVectors];
    for (int v = 0; v < kVectors; ++v) w[v] = load(t.w + k * kPanel + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const Floats x = hn::Set(kFloats, t.x[r * t.x_stride + k]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(x, w[v], sum[r][v]);
    }
  }
  if (t.epilogue == Epilogue::relu) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        // NaN stays: only what is below zero becomes zero.
        sum[r][v] = hn::IfThenZeroElse(hn::Lt(sum[r][v], hn::Zero(kFloats)), sum[r][v]);
      }
    }
  }
  store_tile(sum, t.y, t.y_stride, t.columns);
}

// The tile function for `rows` rows.
template <int kVectors, class Weight, int... kRows>
HWY_INLINE void call_float_tile(int rows, const FloatTile<Weight>& tile,
                                std::integer_sequence<int, kRows...>) {
  using Function = void (*)(const FloatTile<Weight>&);
  static constexpr Function kTiles[] = {float_tile<kRows + 1, kVectors, Weight>...};
  kTiles[rows - 1](tile);
}

template <int kVectors, class Weight>
HWY_INLINE void float_panel(const Panels& m, const Product& p, int panel, int64_t first_row,
                            int64_t last_row) {
  constexpr int kMost = kVectors == 2 ? kTall : kFlat;
  constexpr int kWidth = kVectors * kLanes;
  const auto* weights = static_cast<const Weight*>(m.weights) + int64_t{panel} * m.in * kPanel;
  for (int column = 0; column < std::min(kPanel, m.out - panel * kPanel); column += kWidth) {
    const int at = panel * kPanel + column;
    for (int64_t row = first_row; row < last_row;) {
      const int64_t tiles = (last_row - row + kMost - 1) / kMost;
      const int rows = static_cast<int>((last_row - row + tiles - 1) / tiles);
      call_float_tile<kVectors, Weight>(rows,
                                        {.x = p.x + row * p.x_stride,
                                         .x_stride = p.x_stride,
                                         .w = weights + column,
                                         .depth = m.in,
                                         .bias = m.bias + at,
                                         .y = p.y + row * p.y_stride + at,
                                         .y_stride = p.y_stride,
                                         .columns = m.out - at,
                                         .epilogue = p.epilogue},
                                        std::make_integer_sequence<int, kMost>());
      row += rows;
    }
  }
}

template <class Weight>
void multiply_float(const Panels& m, const Product& p) {
  for (int panel = p.first_panel; panel < p.last_panel; ++panel) {
    if (p.rows <= kFlat) {
      float_panel<4, Weight>(m, p, panel, 0, p.rows);
    } else {
      float_panel<2, Weight>(m, p, panel, 0, p.rows);
    }
  }
}

// ------------------------------------------------------------------ int8

// Four unsigned by signed products per lane where the CPU has VNNI: x is kept as x + 128, and
// sums start at -128 times the sum of the weights. Elsewhere two signed 16-bit products. No step of
// either can overflow.
#if HWY_TARGET == HWY_AVX3_DL
constexpr int kGroup = 4;

HWY_INLINE Ints load_weights(const int8_t* w) {
  return hn::BitCast(kInts, hn::Load(hn::ScalableTag<int8_t>(), w));
}

// Written as assembly because this version of Highway has no such operation and its target string
// does not enable the intrinsic.
HWY_INLINE Ints dot(Ints x, Ints w, Ints sum) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
  return sum;
}

HWY_INLINE Ints first_sum(const int32_t* correction) { return hn::Load(kInts, correction); }

void pack_row(const float* x, int in, float inverse, int32_t* words) {
  auto* bytes = reinterpret_cast<uint8_t*>(words);
  const hn::Rebind<uint8_t, decltype(kInts)> out;
  int i = 0;
  for (; i + kLanes <= in; i += kLanes) {
    const Ints q = hn::NearestInt(hn::Mul(hn::LoadU(kFloats, x + i), hn::Set(kFloats, inverse)));
    hn::StoreU(hn::DemoteTo(out, hn::Add(q, hn::Set(kInts, 128))), out, bytes + i);
  }
  for (; i < in; ++i) bytes[i] = static_cast<uint8_t>(std::lrint(x[i] * inverse) + 128);
  for (; i % kGroup != 0; ++i) bytes[i] = 128;
}
#else
constexpr int kGroup = 2;

HWY_INLINE Ints load_weights(const int8_t* w) {
  const hn::ScalableTag<int16_t> wide;
  return hn::BitCast(kInts, hn::PromoteTo(wide, hn::Load(hn::Rebind<int8_t, decltype(wide)>(), w)));
}

HWY_INLINE Ints dot(Ints x, Ints w, Ints sum) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
  const hn::ScalableTag<int16_t> shorts;
  Ints unused = sum;
  return hn::ReorderWidenMulAccumulate(kInts, hn::BitCast(shorts, x), hn::BitCast(shorts, w), sum,
                                       unused);
#else
  const auto low = [](Ints v) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
  const Ints high = hn::Mul(hn::ShiftRight<16>(x), hn::ShiftRight<16>(w));
  return hn::Add(sum, hn::Add(high, hn::Mul(low(x), low(w))));
#endif
}

HWY_INLINE Ints first_sum(const int32_t* /*correction*/) { return hn::Zero(kInts); }

void pack_row(const float* x, int in, float inverse, int32_t* words) {
  auto* shorts = reinterpret_cast<int16_t*>(words);
  const hn::Rebind<int16_t, decltype(kInts)> out;
  int i = 0;
  for (; i + kLanes <= in; i += kLanes) {
    const Ints q = hn::NearestInt(hn::Mul(hn::LoadU(kFloats, x + i), hn::Set(kFloats, inverse)));
    hn::StoreU(hn::DemoteTo(out, q), out, shorts + i);
  }
  for (; i < in; ++i) shorts[i] = static_cast<int16_t>(std::lrint(x[i] * inverse));
  for (; i % kGroup != 0; ++i) shorts[i] = 0;
}
#endif

// Quantises one row into words of kGroup elements; returns its scale, NaN if x is not finite.
float quantize_row(const float* x, int in, int32_t* words) {
  Floats most = hn::Zero(kFloats), strange = hn::Zero(kFloats);
  int i = 0;
  for (; i + kLanes <= in; i += kLanes) {
    const Floats v = hn::LoadU(kFloats, x + i);
    most = hn::Max(most, hn::Abs(v));
    strange = hn::Add(strange, hn::Sub(v, v));  // NaN if v is NaN or infinite
  }
  float largest = hn::GetLane(hn::MaxOfLanes(kFloats, most));
  float sum = hn::GetLane(hn::SumOfLanes(kFloats, strange));
  for (; i < in; ++i) {
    largest = std::max(largest, std::fabs(x[i]));
    sum += x[i] - x[i];
  }
  // Below, the inverse would overflow; such a row is zero to any float32 sum it enters.
  constexpr float kSmallest = 1e-30F;
  const bool usable = sum == 0 && largest > kSmallest;
  pack_row(x, usable ? in : 0, usable ? 127 / largest : 0, words);
  if (!usable) {
    const float zero = 0;
    for (int k = 0; k < in; k += kGroup) pack_row(&zero, 1, 0, words + k / kGroup);
  }
  if (sum != 0) return std::numeric_limits<float>::quiet_NaN();
  return usable ? largest / 127 : 0;
}

struct Int8Tile {
  const int32_t* x;
  int64_t x_stride;
  const float* x_scales;
  const int8_t* w;
  int64_t depth;  // in groups
  const float* bias;
  const float* scales;
  const int32_t* correction;
  float* y;
  int64_t y_stride;
  int columns;
  Epilogue epilogue;
};

template <int kRows, int kVectors>
void int8_tile(const Int8Tile& t) {
  Ints sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = first_sum(t.correction + v * kLanes);
  }
  for (int64_t k = 0; k < t.depth; ++k) {
    Ints w[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      w[v] = load_weights(t.w + (k * kPanel + v * kLanes) * kGroup);
    }
    for (int r = 0; r < kRows; ++r) {
      const Ints x = hn::Set(kInts, t.x[r * t.x_stride + k]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = dot(x, w[v], sum[r][v]);
    }
  }
  Floats y[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    const Floats x_scale = hn::Set(kFloats, t.x_scales[r]);
    if (t.epilogue == Epilogue::add) load_row(t.y + r * t.y_stride, t.columns, y[r]);
    for (int v = 0; v < kVectors; ++v) {
      // Multiplied and added in two roundings, so that CPUs without fused operations agree.
      const Floats scale = hn::Mul(x_scale, hn::Load(kFloats, t.scales + v * kLanes));
      const Floats value = hn::Add(hn::Mul(hn::ConvertTo(kFloats, sum[r][v]), scale),
                                   hn::Load(kFloats, t.bias + v * kLanes));
      if (t.epilogue == Epilogue::add) {
        y[r][v] = hn::Add(y[r][v], value);
      } else if (t.epilogue == Epilogue::relu) {
        y[r][v] = hn::IfThenZeroElse(hn::Lt(value, hn::Zero(kFloats)), value);
      } else {
        y[r][v] = value;
      }
    }
  }
  store_tile(y, t.y, t.y_stride, t.columns);
}

template <int kVectors, int... kRows>
HWY_INLINE void call_int8_tile(int rows, const Int8Tile& tile,
                               std::integer_sequence<int, kRows...>) {
  using Function = void (*)(const Int8Tile&);
  static constexpr Function kTiles[] = {int8_tile<kRows + 1, kVectors>...};
  kTiles[rows - 1](tile);
}

template <int kVectors>
void int8_panel(const Panels& m, const Product& p, int panel, const int32_t* words,
                const float* x_scales) {
  constexpr int kMost = kVectors == 2 ? kTall : kFlat;
  constexpr int kWidth = kVectors * kLanes;
  const int64_t depth = (m.in + kGroup - 1) / kGroup;
  const auto* weights = static_cast<const int8_t*>(m.weights) + panel * depth * kPanel * kGroup;
  for (int column = 0; column < std::min(kPanel, m.out - panel * kPanel); column += kWidth) {
    const int at = panel * kPanel + column;
    for (int64_t row = 0; row < p.rows;) {
      const int64_t tiles = (p.rows - row + kMost - 1) / kMost;
      const int rows = static_cast<int>((p.rows - row + tiles - 1) / tiles);
      call_int8_tile<kVectors>(rows,
                               {.x = words + row * depth,
                                .x_stride = depth,
                                .x_scales = x_scales + row,
                                .w = weights + column * kGroup,
                                .depth = depth,
                                .bias = m.bias + at,
                                .scales = m.scales + at,
                                .correction = m.correction + at,
                                .y = p.y + row * p.y_stride + at,
                                .y_stride = p.y_stride,
                                .columns = m.out - at,
                                .epilogue = p.epilogue},
                               std::make_integer_sequence<int, kMost>());
      row += rows;
    }
  }
}

void multiply_int8(const Panels& m, const Product& p, int32_t* scratch) {
  const int64_t depth = (m.in + kGroup - 1) / kGroup;
  auto* x_scales = reinterpret_cast<float*>(scratch + p.rows * depth);
  for (int64_t row = 0; row < p.rows; ++row) {
    x_scales[row] = quantize_row(p.x + row * p.x_stride, m.in, scratch + row * depth);
  }
  for (int panel = p.first_panel; panel < p.last_panel; ++panel) {
    if (p.rows <= kFlat) {
      int8_panel<4>(m, p, panel, scratch, x_scales);
    } else {
      int8_panel<2>(m, p, panel, scratch, x_scales);
    }
  }
}

}  // namespace

int int8_group_of_target() { return kGroup; }

void multiply_on_target(const Panels& m, const Product& p, int32_t* scratch) {
  switch (m.precision) {
    case Precision::float32:
      return multiply_float<float>(m, p);
    case Precision::float16:
      return multiply_float<hwy::float16_t>(m, p);
    case Precision::int8:
      return multiply_int8(m, p, scratch);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace residual::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(int8_group_of_target);
HWY_EXPORT(multiply_on_target);

int int8_group() { return HWY_DYNAMIC_DISPATCH(int8_group_of_target)(); }

void multiply_panels(const Panels& panels, const Product& product, int32_t* scratch) {
  HWY_DYNAMIC_DISPATCH(multiply_on_target)(panels, product, scratch);
}

}  // namespace residual::kernels
#endif
