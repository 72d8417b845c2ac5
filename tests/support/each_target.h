#pragma once

#include "kernels/targets.h"
//
#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace residual::kernels {

// Runs a test on every instruction set that this CPU and this build have.
class EachTarget : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

inline std::vector<int64_t> targets() {
  std::vector<int64_t> all = hwy::SupportedAndGeneratedTargets();
  const int64_t avx_vnni = hwy::SupportedTargets() & RESIDUAL_AVX_VNNI;
  if (avx_vnni != 0) all.push_back(HWY_AVX2 | avx_vnni);
  return all;
}

inline std::string target_name(const testing::TestParamInfo<int64_t>& info) {
  const bool has_avx_vnni = (info.param & RESIDUAL_AVX_VNNI) != 0;
  return has_avx_vnni ? "AVX2_VNNI" : hwy::TargetName(info.param);
}

#define RESIDUAL_ON_EACH_TARGET(suite) \
  using suite = EachTarget;            \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(targets()), target_name)

// Around the vector widths, and model widths.
constexpr int kSizes[] = {1, 7, 8, 9, 15, 16, 17, 31, 33, 64, 255, 256, 257};

// Uniform in [-1, 1).
inline std::vector<float> random_floats(int64_t count, uint64_t seed) {
  std::vector<float> values(count);
  const Random random(seed);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(random.uniform(i) * 2 - 1);
  }
  return values;
}

// |got - want| <= tolerance * scale, element by element, and both NaN or neither.
inline void expect_close(const std::vector<float>& got, const std::vector<double>& want,
                         double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::isnan(got[i]), std::isnan(want[i])) << "element " << i;
    if (std::isnan(want[i])) continue;
    ASSERT_NEAR(got[i], want[i], tolerance) << "element " << i;
  }
}

}  // namespace residual::kernels
