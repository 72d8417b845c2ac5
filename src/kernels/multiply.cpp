#include "kernels/multiply.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/multiply.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>
#include <vector>

#include "kernels/scratch.h"
#include "kernels/strips.h"
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

// Steps between two lines of y that a tile prefetches. All at once they would hold up the weights,
// which come through the same few buffers: 160 rows by 10000x256 reach 102 to 107 GFLOP/s this way
// and 96 to 97 otherwise (Zen 4, d76652d).
//
// Tried and not faster on Zen 4 (base float32, batch 32): inputs in slices of 512; tiles of twelve
// rows by two vectors; non-temporal prefetch; both cores in step on one stream of weights; weights
// in order of use with the next matrix's first panel prefetched; rows in huge pages; 48, 96 or 160
// rows of logits at a time. With weights that stay in the cache the same run is 4 to 7 % faster:
// memory is the remaining cost.
constexpr int64_t kYInterval = 8;

// The inputs that are not zero in all rows, in their order. A chain of fused multiply-adds is the
// same, bit for bit, without terms that add zero, so the second product of a feed-forward block
// need not read the weights of the other inputs. It pays for up to six rows where at least three
// eighths of the inputs are zero: at 75 % of inputs remaining it took 117 instead of 105 ms per
// sentence, at 32 % 113 instead of 121, at 14 % 101 instead of 113 (Zen 4, 73de3cb).
//
// A half-trained Multi30k model of width 256 has 26 % of a row non-zero and 35 to 52 % of the
// inputs non-zero in some of five rows; 100 single sentences took 1.79 instead of 2.06 s (709cf5b).
// In batches of 32 skipping was 4 to 11 % slower: weights come from the cache, and gaps break the
// prefetch order. int8 multiplies four inputs at once, all of which would have to be zero.
class Inputs {
 public:
  // The prefetch distance of an input's weights. The CPU's prefetcher does not follow gaps.
  static constexpr int64_t kAhead = kFetchDistance / (4 * kLanes * int64_t{sizeof(float)});

  // Writes the inputs to `list`, which grows to the largest `in`.
  Inputs(const Product& p, int64_t in, std::vector<int32_t>& list) {
    const hn::RebindToSigned<decltype(kFloats)> wholes;
    if (list.size() < static_cast<size_t>(in + kAhead + kLanes)) list.resize(in + kAhead + kLanes);
    int32_t* const out = list.data();
    const int64_t whole = in - in % kLanes;
    for (int64_t k = 0; k < whole; k += kLanes) {
      Floats bits = hn::Zero(kFloats);  // of all rows, without the signs
      for (int64_t r = 0; r < p.rows; ++r) {
        bits = hn::Or(bits, hn::Abs(hn::LoadU(kFloats, p.x + r * p.x_stride + k)));
      }
      const auto any = hn::Ne(hn::BitCast(wholes, bits), hn::Zero(wholes));  // includes NaN
      const auto places = hn::Iota(wholes, static_cast<int32_t>(k));
      count_ += static_cast<int64_t>(hn::CompressStore(places, any, wholes, out + count_));
    }
    for (int64_t k = whole; k < in; ++k) {
      bool any = false;
      for (int64_t r = 0; r < p.rows; ++r) any |= !(p.x[r * p.x_stride + k] == 0);
      if (any) out[count_++] = static_cast<int32_t>(k);
    }
    // The first inputs of the next panel follow the last one, for the prefetches.
    for (int64_t i = 0; i < kAhead; ++i) {
      out[count_ + i] = static_cast<int32_t>(in) + (i < count_ ? out[i] : 0);
    }
    list_ = out;
  }
  int64_t count() const { return count_; }
  int64_t operator[](int64_t i) const { return list_[i]; }

 private:
  const int32_t* list_;
  int64_t count_ = 0;
};

// Computes rows from `row` on by columns from `column` on of y, whose weights are `w`. `inputs`, if
// not null, restricts the sums to these inputs.
template <class S, bool kIsScaled, class Weight>
HWY_NOINLINE void float_tile(const Panels& m, const Product& p, const Weight* w, int64_t row,
                             int64_t column, const Ahead& ahead, const Inputs* inputs) {
  const float* x = p.x + row * p.x_stride;
  const Tile<S> y(p, row, column, m.out - column);
  Floats sum[S::rows][S::vectors];
  for (int v = 0; v < S::vectors; ++v) {
    const Floats start =
        kIsScaled ? hn::Zero(kFloats) : hn::LoadU(kFloats, m.bias + column + v * kLanes);
    for (int r = 0; r < S::rows; ++r) sum[r][v] = start;
  }
  const auto add = [&](int64_t k, const Weight* at) HWY_ATTR {
    Floats weights[S::vectors];
    for (int v = 0; v < S::vectors; ++v) weights[v] = load(at + v * kLanes);
    for (int r = 0; r < S::rows; ++r) {
      const Floats value = hn::Set(kFloats, x[r * p.x_stride + k]);
      for (int v = 0; v < S::vectors; ++v) sum[r][v] = hn::MulAdd(value, weights[v], sum[r][v]);
    }
  };
  if (inputs == nullptr) {
    Fetcher fetcher(ahead);
    for (int64_t k = 0; k < m.in; ++k, w += kPanel) {
      fetcher.step<S::width * sizeof(Weight), kPanel * sizeof(Weight)>(k, w);
      if (k % kYInterval == 0 && k / kYInterval < y.kLines) y.fetch(k / kYInterval);
      add(k, w);
    }
  } else {
    for (int64_t i = 0; i < inputs->count(); ++i) {
      const Weight* const next = w + (*inputs)[i + Inputs::kAhead] * kPanel;
      for (int64_t v = 0; v < S::width; v += kCacheLine / sizeof(Weight)) {
        fetch_to_second_level(next + v);
      }
      const int64_t k = (*inputs)[i];
      add(k, w + k * kPanel);
    }
  }
  y.store([&](int r, int v) HWY_ATTR {
    if constexpr (!kIsScaled) return sum[r][v];
    return hn::MulAdd(sum[r][v], hn::LoadU(kFloats, m.scales + column + v * kLanes),
                      hn::LoadU(kFloats, m.bias + column + v * kLanes));
  });
}

// Calls tile(Shape<...>(), row, column, ahead) for all tiles of the product.
template <class Weight, class Call>
HWY_INLINE void over_float_tiles(const Panels& m, const Product& p, const Call& tile) {
  const int64_t x_bytes = m.in * int64_t{sizeof(float)};
  const int64_t panel_bytes = int64_t{m.in} * kPanel * sizeof(Weight);
  if constexpr (!kHasManyRegisters) {
    // Each step of such a tile has twice as much to multiply as to load. Wider tiles of fewer rows
    // read their weights in longer pieces, which is 7 % faster from 7 rows on (Zen 4).
    // So do single rows of weights that are widened, which takes registers.
    const bool is_widened = !std::is_same_v<Weight, float> && p.rows == 1;
    if (p.rows > kTileRows || is_widened) {
      return over_tiles<3, 4>(m, p, x_bytes, panel_bytes, m.in, tile);
    }
  }
  over_tiles(m, p, x_bytes, panel_bytes, m.in, tile);
}

template <class Weight>
const Weight* panel_of(const Panels& m, int64_t column) {
  return static_cast<const Weight*>(m.weights) + column / kPanel * m.in * kPanel;
}

// With many rows. A tile that widens its own 16-bit weights does a third more work besides its
// multiplications, again for every six rows. From 24 rows (12 with 256-bit vectors) a panel is
// widened once into memory that stays in the second-level cache: 128 KB at width 512. Panels of
// more than 1,024 inputs would not stay there on every CPU and are not widened. The sums are the
// same, bit for bit. On Emerald Rapids a product of 32000x512 with 160 rows went from 105 to 153
// GFLOP/s, base float32 at batch 32 to 1.13 times its speed (5011c45).
template <bool kIsScaled, class Weight>
void multiply_widened(const Panels& m, const Product& p) {
  constexpr int64_t kAlignment = kCacheLine / sizeof(float);
  const int64_t size = int64_t{m.in} * kPanel;
  float* wide = thread_scratch(size + kAlignment);
  wide += -reinterpret_cast<uintptr_t>(wide) % kCacheLine / sizeof(float);
  int64_t panel = -1;
  over_float_tiles<Weight>(
      m, p, [&](auto shape, int64_t row, int64_t column, const Ahead& ahead) HWY_ATTR {
        if (panel != column / kPanel) {
          panel = column / kPanel;
          const auto* const narrow = panel_of<Weight>(m, column);
          for (int64_t i = 0; i < size; i += kLanes) hn::Store(load(narrow + i), kFloats, wide + i);
        }
        float_tile<decltype(shape), kIsScaled>(m, p, wide + column % kPanel, row, column, ahead,
                                               nullptr);
      });
}

// The float products of multiply_strips().
template <bool kIsScaled, class Weight>
struct FloatStrips {
  using Word = float;
  static constexpr auto kTag = kFloats;
  static constexpr int kRows = kTileRows, kGroups = 1, kWords = 1;
  static constexpr int64_t kGroupBytes = sizeof(Weight);

  HWY_INLINE Floats start(int64_t column) const {
    return kIsScaled ? hn::Zero(kFloats) : hn::LoadU(kFloats, m.bias + column);
  }
  template <class S>
  static HWY_INLINE void add(const float* x, int64_t stride, const float* w,
                             Floats (&sum)[S::rows][S::vectors]) {
    Floats weights[S::vectors];
    for (int v = 0; v < S::vectors; ++v) weights[v] = hn::Load(kFloats, w + v * kLanes);
    for (int r = 0; r < S::rows; ++r) {
      const Floats value = hn::Set(kFloats, x[r * stride]);
      for (int v = 0; v < S::vectors; ++v) sum[r][v] = hn::MulAdd(value, weights[v], sum[r][v]);
    }
  }
  static constexpr bool has_rest(int64_t /*row*/, int64_t /*rows*/) { return false; }
  template <class S>
  static void add_rest(const Slice&, int64_t, const float*, const StripTile<S>&) {}
  HWY_INLINE Floats finish(Floats sum, int64_t /*row*/, int64_t column) const {
    if constexpr (!kIsScaled) return sum;
    return hn::MulAdd(sum, hn::LoadU(kFloats, m.scales + column),
                      hn::LoadU(kFloats, m.bias + column));
  }
  static HWY_INLINE Floats widen(const std::byte* from) {
    return load(reinterpret_cast<const Weight*>(from));
  }

  const Panels& m;
  const float* x;
  int64_t stride;
};

template <class Weight>
void multiply_float(const Panels& m, const Product& p) {
  constexpr bool kIsScaled = std::is_same_v<Weight, int16_t>;
  if constexpr (!kHasManyRegisters) {
    // With fewer rows, copying costs more than it saves. Widening must be done anyhow.
    constexpr int64_t kManyRows = std::is_same_v<Weight, float> ? 48 : 24;
    if (p.rows >= kManyRows) {
      const FloatStrips<kIsScaled, Weight> strips = {m, p.x, p.x_stride};
      return multiply_strips(strips, m, p, m.in);
    }
  } else if constexpr (!std::is_same_v<Weight, float>) {
    // A widened panel must fit into the second-level cache beside rows of x and the next narrow
    // panel.
    constexpr int64_t kManyRows = int64_t{4} * kTileRows, kMostBytes = 256 << 10;
    const int64_t bytes = int64_t{m.in} * kPanel * int64_t{sizeof(float)};
    if (p.rows >= kManyRows && bytes <= kMostBytes) {
      return multiply_widened<kIsScaled, Weight>(m, p);
    }
  }
  const auto multiply = [&](const Inputs* inputs) HWY_ATTR {
    over_float_tiles<Weight>(
        m, p, [&](auto shape, int64_t row, int64_t column, const Ahead& ahead) HWY_ATTR {
          const auto* const w = panel_of<Weight>(m, column) + column % kPanel;
          float_tile<decltype(shape), kIsScaled>(m, p, w, row, column, ahead, inputs);
        });
  };
  // With more rows, weights come from the cache, and few inputs are zero in all rows. With few
  // gaps, reading all weights sequentially is faster than reading only the needed ones.
  constexpr int64_t kFewRows = 6;
  if (!p.is_sparse || p.rows > kFewRows) return multiply(nullptr);
  thread_local std::vector<int32_t> list;
  const Inputs inputs(p, m.in, list);
  multiply(8 * inputs.count() < int64_t{5} * m.in ? &inputs : nullptr);
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
