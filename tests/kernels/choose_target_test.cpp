#include "kernels/targets.h"
//
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace residual::kernels {
namespace {

// The kernels are not compiled for these.
constexpr int64_t kLeftOut = HWY_DISABLED_TARGETS | HWY_SCALAR;

TEST(ChosenTarget, IsWhatHighwaysLibraryFindsOnThisCpu) {
  void* library = dlopen("libhwy.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "no library of Highway: " << dlerror();
  const auto supported =
      reinterpret_cast<int64_t (*)()>(dlsym(library, "_ZN3hwy16SupportedTargetsEv"));
  ASSERT_NE(supported, nullptr) << dlerror();
  EXPECT_EQ((hwy::SupportedTargets() | HWY_EMU128) & ~kLeftOut,
            (supported() | HWY_EMU128) & ~kLeftOut);
}

TEST(ChosenTarget, CanBeSetAndFollowsTheCpuAgain) {
  const int64_t all = hwy::SupportedTargets();
  hwy::SetSupportedTargetsForTest(HWY_EMU128);
  EXPECT_EQ(hwy::SupportedTargets(), HWY_EMU128);
  EXPECT_FALSE(hwy::GetChosenTarget().IsInitialized());
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_EQ(hwy::SupportedTargets(), all);
}

}  // namespace
}  // namespace residual::kernels
