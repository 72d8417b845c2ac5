#include "training_kernels/bf16.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training_kernels/bf16.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/simd.h"
#include "training_kernels/bf16_pairs.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels {
namespace HWY_NAMESPACE {

void narrow(const float* x, int64_t count, Bf16* y) {
  with_dot([&](auto dot) HWY_ATTR { dot.narrow(x, count, y); });
}

void widen(const Bf16* x, int64_t count, float* y) {
  over(count, [&](auto t, int64_t j) HWY_ATTR { hn::StoreU(load_bf16(t, x + j), t, y + j); });
}

void rectified_gradient(const Bf16* y, const Bf16* dy, const Dropout& dropout, int64_t count,
                        Bf16* dx) {
  const float scale = dropout.on() ? dropout.kept_scale() : 1;
  over(count, [&](auto t, int64_t j) HWY_ATTR {
    const auto positive = hn::Gt(load_bf16(t, y + j), hn::Zero(t));
    const auto scaled = hn::Mul(load_bf16(t, dy + j), hn::Set(t, scale));
    store_bf16(t, hn::IfThenElseZero(positive, scaled), dx + j);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace residual::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(narrow);
HWY_EXPORT(widen);
HWY_EXPORT(rectified_gradient);

void to_bf16(const float* x, int64_t count, Bf16* y) { HWY_DYNAMIC_DISPATCH(narrow)(x, count, y); }
void from_bf16(const Bf16* x, int64_t count, float* y) { HWY_DYNAMIC_DISPATCH(widen)(x, count, y); }
void relu_dropout_gradient(const Bf16* y, const Bf16* dy, const Dropout& dropout, int64_t count,
                           Bf16* dx) {
  HWY_DYNAMIC_DISPATCH(rectified_gradient)(y, dy, dropout, count, dx);
}

}  // namespace residual::kernels
#endif
