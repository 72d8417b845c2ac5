// Vectors of bfloat16, once per instruction set: included inside each pass of
// hwy/foreach_target.h, so its guard toggles.
#if defined(RESIDUAL_TRAINING_KERNELS_BF16_SIMD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RESIDUAL_TRAINING_KERNELS_BF16_SIMD_H
#undef RESIDUAL_TRAINING_KERNELS_BF16_SIMD_H
#else
#define RESIDUAL_TRAINING_KERNELS_BF16_SIMD_H
#endif

#include "kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {

// Rounds to bfloat16 in the upper half of each lane; the lower half holds anything.
template <class D, class V = hn::Vec<hn::RebindToUnsigned<D>>>
HWY_INLINE V round_upper(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> bits;
  const V u = hn::BitCast(bits, x);
  const V odd = hn::And(hn::ShiftRight<16>(u), hn::Set(bits, 1));
  const V nearest = hn::Add(hn::Add(u, hn::Set(bits, 0x7FFF)), odd);
  const auto nan = hn::RebindMask(bits, hn::IsNaN(x));
  const auto small = hn::RebindMask(bits, hn::Lt(hn::Abs(x), hn::Set(d, 0x1p-126F)));
  const V number = hn::IfThenElse(small, hn::And(u, hn::Set(bits, 0x80000000)), nearest);
  return hn::IfThenElse(nan, hn::Or(u, hn::Set(bits, 0x00400000)), number);
}

template <class D>
HWY_INLINE void store_bf16(D d, hn::Vec<D> x, uint16_t* to) {
  const hn::Rebind<uint16_t, D> halves;
  hn::StoreU(hn::TruncateTo(halves, hn::ShiftRight<16>(round_upper(d, x))), halves, to);
}

template <class D>
HWY_INLINE hn::Vec<D> load_bf16(D d, const uint16_t* from) {
  const hn::Rebind<uint16_t, D> halves;
  const hn::RebindToUnsigned<D> bits;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(halves, from))));
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
