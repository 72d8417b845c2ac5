#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd_test.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/simd.h"
#include "support/each_target.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels {
namespace HWY_NAMESPACE {

void exp_of(const float* x, float* y) {
  for (int i = 0; i < 16; i += kLanes) {
    hn::StoreU(exp_nonpositive(kFloats, hn::LoadU(kFloats, x + i)), kFloats, y + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace residual::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {
namespace {

HWY_EXPORT(exp_of);
RESIDUAL_ON_EACH_TARGET(Simd);

TEST_P(Simd, ExpIsWithinOneUnitInTheLastPlace) {
  double worst = 0;
  float x[16], y[16];
  for (uint32_t bits = std::bit_cast<uint32_t>(-0.0F); bits < std::bit_cast<uint32_t>(-87.3F);) {
    for (float& v : x) {
      v = std::bit_cast<float>(bits);
      bits += 1201;
    }
    HWY_DYNAMIC_DISPATCH(exp_of)(x, y);
    for (int i = 0; i < 16; ++i) {
      if (x[i] < -87.3F) continue;
      const double want = std::exp(double{x[i]});
      const double unit = std::ldexp(1.0, std::ilogb(want) - 23);
      worst = std::max(worst, std::fabs(y[i] - want) / unit);
    }
  }
  EXPECT_LT(worst,
            GetParam() >= HWY_SSE4 ? 1.5 : 1.0);  // without fused operations one more rounding
}

TEST_P(Simd, ExpKnowsItsEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float x[16] = {0, -0.0F, -87.4F, -200, -1e30F, -infinity, std::nanf("1"), -1e-30F};
  float y[16];
  HWY_DYNAMIC_DISPATCH(exp_of)(x, y);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 1);
  for (int i = 2; i < 6; ++i) EXPECT_EQ(y[i], 0) << x[i];
  EXPECT_TRUE(std::isnan(y[6]));
  EXPECT_EQ(y[7], 1);
}

}  // namespace
}  // namespace residual::kernels
#endif
