// Vector functions shared by the kernels, once per instruction set: included inside each pass of
// hwy/foreach_target.h, so its guard toggles.
#if defined(RESIDUAL_KERNELS_SIMD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RESIDUAL_KERNELS_SIMD_H
#undef RESIDUAL_KERNELS_SIMD_H
#else
#define RESIDUAL_KERNELS_SIMD_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<float> kFloats;
constexpr hn::ScalableTag<int32_t> kInts;
constexpr hn::CappedTag<float, 1> kOneFloat;  // for the last elements of a row, one by one
using Floats = hn::Vec<decltype(kFloats)>;
using Ints = hn::Vec<decltype(kInts)>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(kFloats));

// Returns e^x for x <= 0 within 1 ulp; 0 where the result would be below 2^-126, NaN for NaN.
// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2) / 2. The polynomial for (e^r - 1 - r) / r^2
// is the minimax fit of relative error 3e-9 (Lawson's iteration).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_nonpositive(D d, V x) {
  const V magic = hn::Set(d, 0x1.8p23F + 127);  // adding it rounds and leaves n + 127 in the bits
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), magic);
  const V n = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693145751953125F), x);  // ln 2 in two parts
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6F), r);
  V p = hn::MulAdd(r, hn::Set(d, 0.00138145406F), hn::Set(d, 0.00836874566F));
  p = hn::MulAdd(r, p, hn::Set(d, 0.0416683908F));
  p = hn::MulAdd(r, p, hn::Set(d, 0.166665204F));
  p = hn::MulAdd(r, p, hn::Set(d, 0.499999934F));
  p = hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), hn::Set(d, 1.0F));
  const hn::RebindToUnsigned<D> bits;
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(bits, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33654F)), hn::Mul(p, power));  // -126 ln 2
}

// Sums the lanes, in an order that depends only on the instruction set.
HWY_INLINE float total(Floats v) { return hn::GetLane(hn::SumOfLanes(kFloats, v)); }

// Calls body(tag, j) for whole vectors of the elements [0, count), then for single elements.
template <class Body>
HWY_INLINE void over(int64_t count, const Body& body) {
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) body(kFloats, j);
  for (; j < count; ++j) body(kOneFloat, j);
}

// Returns the sum of body(tag, j) over the same elements.
template <class Body>
HWY_INLINE float sum_over(int64_t count, const Body& body) {
  Floats sum = hn::Zero(kFloats);
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) sum = hn::Add(sum, body(kFloats, j));
  float rest = 0;
  for (; j < count; ++j) rest += hn::GetLane(body(kOneFloat, j));
  return total(sum) + rest;
}

// Transposes four rows of four and calls store(column, number) for each column.
template <class D, class V = hn::Vec<D>, class Store>
HWY_INLINE void transpose_four(D d, V a, V b, V c, V e, const Store& store) {
  const hn::Repartition<uint64_t, D> pairs;
  const auto lower = [&](V x, V y)
                         HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveLower(d, x, y)); };
  const auto upper = [&](V x, V y)
                         HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveUpper(d, x, y)); };
  const auto ab = lower(a, b), ce = lower(c, e), ab_upper = upper(a, b), ce_upper = upper(c, e);
  store(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)), 0);
  store(hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)), 1);
  store(hn::BitCast(d, hn::InterleaveLower(pairs, ab_upper, ce_upper)), 2);
  store(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_upper, ce_upper)), 3);
}

// Loads blocks of four elements: block j of rows 0, 4, 8 ... from `w` on goes to squares[j].
template <class D, class V = hn::Vec<D>>
HWY_INLINE void load_blocks(D d, const hn::TFromD<D>* w, int64_t stride, V* squares) {
  constexpr size_t kBlocks = hn::MaxLanes(D()) / 4;
  static_assert(kBlocks == 1 || kBlocks == 2 || kBlocks == 4);
  V rows[kBlocks];
  for (size_t i = 0; i < kBlocks; ++i) rows[i] = hn::LoadU(d, w + 4 * i * stride);
  if constexpr (kBlocks == 1) {
    squares[0] = rows[0];
  } else if constexpr (kBlocks == 2) {
    squares[0] = hn::ConcatLowerLower(d, rows[1], rows[0]);
    squares[1] = hn::ConcatUpperUpper(d, rows[1], rows[0]);
  } else {
    const auto split = [](V even, V odd, V* halves) HWY_ATTR {
      halves[0] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even);
      halves[1] = hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even));
    };
    split(hn::ConcatLowerLower(d, rows[2], rows[0]), hn::ConcatLowerLower(d, rows[3], rows[1]),
          squares);
    split(hn::ConcatUpperUpper(d, rows[2], rows[0]), hn::ConcatUpperUpper(d, rows[3], rows[1]),
          squares + 2);
  }
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
