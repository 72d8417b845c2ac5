#include "kernels/multiply.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/multiply.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE Floats load(const float* w) { return hn::Load(kFloats, w); }
HWY_INLINE Floats load(const hwy::float16_t* w) {
  return hn::PromoteTo(kFloats, hn::Load(hn::Rebind<hwy::float16_t, decltype(kFloats)>(), w));
}
HWY_INLINE Floats load(const int16_t* w) {
  const hn::Rebind<int32_t, decltype(kFloats)> wholes;
  return hn::ConvertTo(
      kFloats, hn::PromoteTo(wholes, hn::Load(hn::Rebind<int16_t, decltype(kFloats)>(), w)));
}

// Steps between two lines of y being fetched. All at once they would hold up the weights, which
// come through the same few buffers, for as long as memory takes.
constexpr int64_t kYInterval = 8;

// Rows [row, row + kRows) by columns [column, column + kTileWidth) of y.
template <int kRows, class Weight>
HWY_NOINLINE void float_tile(const Panels& m, const Product& p, int64_t row, int64_t column,
                             const Ahead& ahead) {
  constexpr bool kIsScaled = std::is_same_v<Weight, int16_t>;
  const Weight* w =
      static_cast<const Weight*>(m.weights) + column / kPanel * m.in * kPanel + column % kPanel;
  const float* x = p.x + row * p.x_stride;
  const Tile<kRows> y(p, row, column, m.out - column);
  Floats sum[kRows][kTileVectors];
  for (int v = 0; v < kTileVectors; ++v) {
    const Floats start =
        kIsScaled ? hn::Zero(kFloats) : hn::LoadU(kFloats, m.bias + column + v * kLanes);
    for (int r = 0; r < kRows; ++r) sum[r][v] = start;
  }
  Fetcher fetcher(ahead);
  for (int64_t k = 0; k < m.in; ++k, w += kPanel) {
    fetcher.step<kTileWidth * sizeof(Weight)>(k, w);
    if (k % kYInterval == 0 && k / kYInterval < y.kLines) y.fetch(k / kYInterval);
    Floats weights[kTileVectors];
    for (int v = 0; v < kTileVectors; ++v) weights[v] = load(w + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const Floats value = hn::Set(kFloats, x[r * p.x_stride + k]);
      for (int v = 0; v < kTileVectors; ++v) sum[r][v] = hn::MulAdd(value, weights[v], sum[r][v]);
    }
  }
  y.store([&](int r, int v) HWY_ATTR {
    if constexpr (!kIsScaled) return sum[r][v];
    return hn::MulAdd(sum[r][v], hn::LoadU(kFloats, m.scales + column + v * kLanes),
                      hn::LoadU(kFloats, m.bias + column + v * kLanes));
  });
}

template <class Weight>
void multiply_float(const Panels& m, const Product& p) {
  const int64_t x_bytes = m.in * int64_t{sizeof(float)};
  const int64_t panel_bytes = int64_t{m.in} * kPanel * sizeof(Weight);
  over_tiles<kTileRows>(m, p, x_bytes, panel_bytes, m.in,
                        [&](auto rows, int64_t row, int64_t column, const Ahead& ahead) HWY_ATTR {
                          float_tile<decltype(rows)::value, Weight>(m, p, row, column, ahead);
                        });
}

}  // namespace

void multiply_float32(const Panels& m, const Product& p) { multiply_float<float>(m, p); }
void multiply_float16(const Panels& m, const Product& p) { multiply_float<hwy::float16_t>(m, p); }
void multiply_int16(const Panels& m, const Product& p) { multiply_float<int16_t>(m, p); }

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(multiply_float32);
HWY_EXPORT(multiply_float16);
HWY_EXPORT(multiply_int16);

void multiply_float32(const Panels& m, const Product& p) {
  HWY_DYNAMIC_DISPATCH(multiply_float32)(m, p);
}

void multiply_float16(const Panels& m, const Product& p) {
  HWY_DYNAMIC_DISPATCH(multiply_float16)(m, p);
}

void multiply_int16(const Panels& m, const Product& p) {
  HWY_DYNAMIC_DISPATCH(multiply_int16)(m, p);
}

}  // namespace residual::kernels
#endif
