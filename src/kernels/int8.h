// The arithmetics of int8 products; included inside each pass of hwy/foreach_target.h, so its guard
// toggles.
//
// Rows of x are quantised to integers of at most 127. Inputs of weights lie in groups, as many side
// by side as fill 16 or 32 bits of a lane, and words of x hold groups. All sums are exact, so that
// every arithmetic gives the same ones:
//   Pairs   two products of 16 bits, which a step adds to an int32
//   Vnni    four unsigned by signed bytes: a word holds x + 128, and the sums start at -128 times
//           the sum of the weights
//   Bytes   AVX2's unsigned by signed bytes, which saturate at 16 bits; see below
#if defined(RESIDUAL_KERNELS_INT8_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RESIDUAL_KERNELS_INT8_H
#undef RESIDUAL_KERNELS_INT8_H
#else
#define RESIDUAL_KERNELS_INT8_H
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "kernels/matrix.h"
#include "kernels/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {

constexpr hn::ScalableTag<uint32_t> kUints;
using Uints = hn::Vec<decltype(kUints)>;

// A further step of a row with any two of its groups; see Bytes.
struct Rest {
  int32_t row;
  int32_t groups[2], x[2];
  int32_t offset;
};

// Rows of x as an arithmetic reads them.
struct Quantized {
  const int32_t* words = nullptr;
  int64_t stride = 0;             // words between rows
  int64_t steps = 0;              // of a product
  const float* scales = nullptr;  // [rows]
  // Of Bytes: row r has rest[begins[r]] to rest[begins[r + 1] - 1].
  const Rest* rest = nullptr;
  const int32_t* begins = nullptr;
};

// One word of x and one group of weights a step. Arithmetic::dot(x, w, sum) adds their products.
template <class Arithmetic>
struct WordByWord {
  static constexpr int kGroups = 1, kWords = 1;

  // Adds a step of the tile S. `x` is the step's word of the first row; weights(group, v) returns a
  // vector of weights.
  template <class S, class Weights>
  static HWY_INLINE void add(const int32_t* x, int64_t stride, const Weights& weights,
                             Ints (&sum)[S::rows][S::vectors]) {
    Ints w[S::vectors];
    for (int v = 0; v < S::vectors; ++v) w[v] = weights(0, v);
    for (int r = 0; r < S::rows; ++r) {
      const Ints word = hn::Set(kInts, x[r * stride]);
      for (int v = 0; v < S::vectors; ++v) sum[r][v] = Arithmetic::dot(word, w[v], sum[r][v]);
    }
  }
  static constexpr bool has_rest(const Quantized&, int64_t, int64_t) { return false; }
  template <class S, class Weights, class At>
  static HWY_INLINE void add_rest(const Quantized&, int64_t, int64_t, int64_t, const Weights&,
                                  const At&) {}
};

#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX2
struct Vnni : WordByWord<Vnni> {
  using Element = uint8_t;
  static constexpr int kGroup = 4, kOffset = 128;

  static HWY_INLINE Ints load_weights(const int8_t* w) {
    return hn::BitCast(kInts, hn::Load(hn::ScalableTag<int8_t>(), w));
  }
  static HWY_INLINE Ints start(const Panels& m, int64_t column) {
    return hn::LoadU(kInts, m.correction + column);
  }
  // This is assembly because Highway 1.0.3 has no such operation and its target attributes do not
  // enable the intrinsics. AVX-VNNI has an encoding of its own.
  static HWY_INLINE Ints dot(Ints x, Ints w, Ints sum) {
#if HWY_TARGET == HWY_AVX2
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(x.raw), "x"(w.raw));
#else
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
#endif
    return sum;
  }
};
#else
struct Pairs : WordByWord<Pairs> {
  using Element = int16_t;
  static constexpr int kGroup = 2, kOffset = 0;

  static HWY_INLINE Ints load_weights(const int8_t* w) {
    const hn::ScalableTag<int16_t> wide;
    return hn::BitCast(kInts,
                       hn::PromoteTo(wide, hn::Load(hn::Rebind<int8_t, decltype(wide)>(), w)));
  }
  static HWY_INLINE Ints start(const Panels& /*m*/, int64_t /*column*/) { return hn::Zero(kInts); }
  static HWY_INLINE Ints dot(Ints x, Ints w, Ints sum) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
    const hn::ScalableTag<int16_t> shorts;
    Ints unused = sum;
    return hn::ReorderWidenMulAccumulate(kInts, hn::BitCast(shorts, x), hn::BitCast(shorts, w), sum,
                                         unused);
#elif HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
    const int16x8_t a = vreinterpretq_s16_s32(x.raw), b = vreinterpretq_s16_s32(w.raw);
    const int32x4_t low = vmull_s16(vget_low_s16(a), vget_low_s16(b));
    return Ints{vaddq_s32(sum.raw, vpaddq_s32(low, vmull_high_s16(a, b)))};
#else
    const auto low = [](Ints v) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
    const Ints high = hn::Mul(hn::ShiftRight<16>(x), hn::ShiftRight<16>(w));
    return hn::Add(sum, hn::Add(high, hn::Mul(low(x), low(w))));
#endif
  }
};
#endif

#if HWY_TARGET == HWY_AVX2
// vpmaddubsw multiplies unsigned by signed bytes and adds two products with saturation at 16 bits.
// Weights are the unsigned ones, w + 128. A step takes two groups, eight inputs, whose four
// products in a lane of 16 bits are added before the lanes are widened: half as many widening
// instructions as products, where pairs of 16-bit numbers need twice as many products. On Zen 5 the
// loop reaches 380 of which pairs reach 250 GOP/s.
//
// Nothing overflows if a row of x obeys two rules. Two inputs that one instruction adds have a sum
// of at most 128: 255 times it fits into 16 bits. The magnitudes of the four inputs of a lane have
// a sum of at most 255: 128 times the sum of x, which the offset of the weights adds, is taken away
// before the second addition, and what remains, the products with the signed weights, is at most
// 128 * 255. Before that the lane may wrap around.
// A part of x that breaks a rule moves to a Rest, a further step of that row alone. Of normally
// distributed rows of 512 inputs, 5 % of the words are there twice; at worst all.
struct Bytes {
  using Element = int8_t;
  static constexpr int kGroup = 4, kOffset = 0;
  static constexpr int kGroups = 2;
  static constexpr int kWords = 3;  // two of x, and -128 times the sums of the lanes
  static constexpr int kMostPair = 128, kMostLane = 255;

  static HWY_INLINE Ints load_weights(const int8_t* w) {
    const hn::ScalableTag<int8_t> bytes;
    return hn::BitCast(kInts, hn::Xor(hn::Load(bytes, w), hn::Set(bytes, -128)));
  }
  static HWY_INLINE Ints start(const Panels& /*m*/, int64_t /*column*/) { return hn::Zero(kInts); }

  template <class S, class Weights>
  static HWY_INLINE void add(const int32_t* x, int64_t stride, const Weights& weights,
                             Ints (&sum)[S::rows][S::vectors]) {
    static_assert(S::vectors % 2 == 0);
    for (int v = 0; v < S::vectors; v += 2) {
      const Ints w[2][2] = {{weights(0, v), weights(0, v + 1)}, {weights(1, v), weights(1, v + 1)}};
      for (int r = 0; r < S::rows; ++r) add(x + r * stride, w, sum[r][v], sum[r][v + 1]);
    }
  }

  static bool has_rest(const Quantized& q, int64_t row, int64_t rows) {
    return q.begins[row + rows] > q.begins[row];
  }
  // Adds what row..row + S::rows have in Rests of the steps [begin, begin + steps).
  // at(r, v) is memory of floats that has the bits of a vector of the tile's sums.
  template <class S, class Weights, class At>
  static HWY_INLINE void add_rest(const Quantized& q, int64_t row, int64_t begin, int64_t steps,
                                  const Weights& weights, const At& at) {
    const auto first = static_cast<uint64_t>(kGroups * begin),
               count = static_cast<uint64_t>(kGroups * steps);
    const __m256i ones = _mm256_set1_epi16(1);
    const Rest* const end = q.rest + q.begins[row + S::rows];
    for (const Rest* rest = q.rest + q.begins[row]; rest < end; ++rest) {
      const uint64_t groups[] = {static_cast<uint64_t>(rest->groups[0]) - first,
                                 static_cast<uint64_t>(rest->groups[1]) - first};
      if (groups[0] >= count) continue;  // as the other: both are of one slice
      const __m256i x[] = {_mm256_set1_epi32(rest->x[0]), _mm256_set1_epi32(rest->x[1])};
      const __m256i offset = _mm256_set1_epi32(rest->offset);
#pragma GCC unroll 8
      for (int v = 0; v < S::vectors; ++v) {
        __m256i lanes = offset;
        for (int i = 0; i < 2; ++i) {
          const Ints w = weights(static_cast<int64_t>(groups[i]), v);
          lanes = _mm256_add_epi16(lanes, _mm256_maddubs_epi16(w.raw, x[i]));
        }
        const Ints more{_mm256_madd_epi16(lanes, ones)};
        float* const sum = at(rest->row - row, v);
        const Ints before = hn::BitCast(kInts, hn::LoadU(kFloats, sum));
        hn::StoreU(hn::BitCast(kFloats, hn::Add(before, more)), kFloats, sum);
      }
    }
  }

  // The size of the row that arrange() takes: whole vectors.
  static int64_t row_bytes(int64_t steps) { return (steps + 3) / 4 * 32; }

  // Turns a row of `steps` times eight bytes into words of x and Rests.
  static void arrange(const int8_t* q, int64_t steps, int32_t row, int32_t* words,
                      std::vector<Rest>& rest) {
    constexpr int64_t kSteps = 4;  // in a vector
    const __m256i ones = _mm256_set1_epi8(1);
    Rests rests(row, rest);
    for (int64_t step = 0; step < steps; step += kSteps, q += kSteps * kGroups * kGroup) {
      const auto first = static_cast<int32_t>(kGroups * step);
      __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q));
      const __m256i sums = _mm256_abs_epi16(_mm256_maddubs_epi16(ones, x));
      const __m256i unequal = _mm256_cmpgt_epi16(sums, _mm256_set1_epi16(kMostPair));
      if (_mm256_testz_si256(unequal, unequal) == 0) {
        const __m256i halves =
            _mm256_and_si256(_mm256_srli_epi16(_mm256_abs_epi8(x), 1), _mm256_set1_epi8(63));
        x = rests.move(_mm256_and_si256(_mm256_sign_epi8(halves, x), unequal), x, first, true);
      }
      // Of the second pair of each lane, all.
      const __m256i magnitudes = _mm256_maddubs_epi16(_mm256_abs_epi8(x), ones);
      const __m256i both = _mm256_add_epi16(magnitudes, _mm256_slli_epi64(magnitudes, 32));
      const __m256i large = _mm256_cmpgt_epi16(both, _mm256_set1_epi16(kMostLane));
      if (_mm256_testz_si256(large, large) == 0) {
        x = rests.move(_mm256_and_si256(x, large), x, first, false);
      }
      const __m256i pairs = _mm256_maddubs_epi16(ones, x);
      const __m256i lanes = _mm256_add_epi16(pairs, _mm256_srli_epi64(pairs, 32));
      alignas(32) int32_t all[2][2 * kSteps];
      _mm256_store_si256(reinterpret_cast<__m256i*>(all[0]), x);
      _mm256_store_si256(reinterpret_cast<__m256i*>(all[1]), offsets(lanes));
      for (int64_t i = 0; i < std::min(kSteps, steps - step); ++i, words += kWords) {
        words[0] = all[0][2 * i];
        words[1] = all[0][2 * i + 1];
        words[2] = all[1][2 * i];
      }
    }
  }

 private:
  static constexpr int16_t kOnes[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

  // This is assembly because GCC 12 otherwise has no registers left for the sums.
  static HWY_INLINE void add(const int32_t* x, const Ints (&w)[2][2], Ints& first, Ints& second) {
    __m256i left = first.raw, right = second.raw, word, a, b, more;
    asm("vpbroadcastd %[x0], %[word]\n\t"
        "vpmaddubsw %[word], %[w00], %[a]\n\t"
        "vpmaddubsw %[word], %[w01], %[b]\n\t"
        "vpbroadcastd %[offset], %[word]\n\t"
        "vpaddw %[word], %[a], %[a]\n\t"
        "vpaddw %[word], %[b], %[b]\n\t"
        "vpbroadcastd %[x1], %[word]\n\t"
        "vpmaddubsw %[word], %[w10], %[more]\n\t"
        "vpaddw %[more], %[a], %[a]\n\t"
        "vpmaddubsw %[word], %[w11], %[more]\n\t"
        "vpaddw %[more], %[b], %[b]\n\t"
        "vpmaddwd %[ones], %[a], %[a]\n\t"
        "vpmaddwd %[ones], %[b], %[b]\n\t"
        "vpaddd %[a], %[left], %[left]\n\t"
        "vpaddd %[b], %[right], %[right]"
        : [left] "+x"(left), [right] "+x"(right), [word] "=&x"(word), [a] "=&x"(a), [b] "=&x"(b),
          [more] "=&x"(more)
        : [w00] "x"(w[0][0].raw), [w01] "x"(w[0][1].raw), [w10] "x"(w[1][0].raw),
          [w11] "x"(w[1][1].raw), [x0] "m"(x[0]), [x1] "m"(x[1]), [offset] "m"(x[2]),
          [ones] "m"(kOnes));
    first = Ints{left};
    second = Ints{right};
  }

  // -128 times the sums of lanes, which may wrap around.
  static __m256i offsets(__m256i sums) {
    return _mm256_sub_epi16(_mm256_setzero_si256(), _mm256_slli_epi16(sums, 7));
  }

  // Those of one row.
  class Rests {
   public:
    Rests(int32_t row, std::vector<Rest>& all) : row_(row), all_(all) {}

    // Adds the pairs of bytes of `moved` that are not zero, from group `first` on. Two of
    // `small` ones, below 64, share a Rest. Returns x - moved.
    __m256i move(__m256i moved, __m256i x, int32_t first, bool small) {
      alignas(32) uint16_t pairs[16], offset[16];
      const __m256i sums = _mm256_maddubs_epi16(_mm256_set1_epi8(1), moved);
      _mm256_store_si256(reinterpret_cast<__m256i*>(pairs), moved);
      _mm256_store_si256(reinterpret_cast<__m256i*>(offset), offsets(sums));
      const __m256i none = _mm256_cmpeq_epi16(moved, _mm256_setzero_si256());
      uint32_t bits = ~static_cast<uint32_t>(_mm256_movemask_epi8(none)) & 0x55555555U;
      for (; bits != 0; bits &= bits - 1) {
        const int pair = std::countr_zero(bits) / 2, shift = pair % 2 * 16;
        add(first + pair / 2, uint32_t{pairs[pair]} << shift, uint32_t{offset[pair]} << shift,
            small);
      }
      return _mm256_sub_epi8(x, moved);
    }

   private:
    void add(int32_t group, uint32_t x, uint32_t offset, bool small) {
      if (small && has_room_ && all_.back().groups[0] / kSliceGroups == group / kSliceGroups) {
        Rest& last = all_.back();
        last.groups[1] = group;
        last.x[1] = static_cast<int32_t>(x);
        last.offset = _mm_cvtsi128_si32(_mm_add_epi16(
            _mm_cvtsi32_si128(last.offset), _mm_cvtsi32_si128(static_cast<int32_t>(offset))));
        has_room_ = false;
        return;
      }
      all_.push_back({.row = row_,
                      .groups = {group, group},
                      .x = {static_cast<int32_t>(x), 0},
                      .offset = static_cast<int32_t>(offset)});
      has_room_ = small;
    }

    const int32_t row_;
    std::vector<Rest>& all_;
    bool has_room_ = false;
  };
};
#endif

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
