#include "kernels/targets.h"
//
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cctype>
#include <cstdlib>
#include <string>

#include "kernels/instruction_set.h"
#include "support/error_of.h"

namespace residual::kernels {
namespace {

// The kernels are not compiled for these.
constexpr int64_t kLeftOut = HWY_DISABLED_TARGETS | HWY_SCALAR;
// The library does not look for this.
constexpr int64_t kOurs = RESIDUAL_AVX_VNNI;

TEST(ChosenTarget, IsWhatHighwaysLibraryFindsOnThisCpu) {
  void* library = dlopen("libhwy.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "no library of Highway: " << dlerror();
  const auto supported =
      reinterpret_cast<int64_t (*)()>(dlsym(library, "_ZN3hwy16SupportedTargetsEv"));
  ASSERT_NE(supported, nullptr) << dlerror();
  EXPECT_EQ((hwy::SupportedTargets() | HWY_EMU128) & ~(kLeftOut | kOurs),
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

class LimitedTarget : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("RESIDUAL_CPU");
    hwy::SetSupportedTargetsForTest(0);  // chooses again
  }
  static void limit(const char* name) {
    setenv("RESIDUAL_CPU", name, 1);
    hwy::SetSupportedTargetsForTest(0);
  }
};

TEST_F(LimitedTarget, IsWhatTheVariableNamesInAnyCase) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    std::string name = hwy::TargetName(target);
    limit(name.c_str());
    EXPECT_EQ(instruction_set(), name);
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    limit(name.c_str());
    EXPECT_EQ(instruction_set(), std::string(hwy::TargetName(target)));
  }
}

TEST_F(LimitedTarget, Avx2LeavesOutAvxVnniWhichHasItsOwnName) {
  if (!has_avx_vnni()) GTEST_SKIP() << "this CPU has no AVX-VNNI";
  limit("avx2");
  EXPECT_FALSE(has_avx_vnni());
  EXPECT_EQ(instruction_set(), std::string("AVX2"));
  limit("AVX2_vnni");
  EXPECT_TRUE(has_avx_vnni());
  EXPECT_EQ(instruction_set(), std::string("AVX2_VNNI"));
  limit("sse4");
  EXPECT_FALSE(has_avx_vnni());
}

TEST_F(LimitedTarget, IsTheBestOfTheCpuIfTheVariableIsEmpty) {
  const std::string best = instruction_set();
  limit("");
  EXPECT_EQ(instruction_set(), best);
}

TEST_F(LimitedTarget, RefusesOtherNamesAndSaysWhichThereAre) {
  std::string last = hwy::TargetName(hwy::SupportedAndGeneratedTargets().back());
  for (char& c : last) c = static_cast<char>(std::tolower(c));
  limit("pentium");
  const std::string error = test::error_of([] { instruction_set(); });
  EXPECT_TRUE(error.starts_with("RESIDUAL_CPU: expected an instruction set of this CPU ("))
      << error;
  EXPECT_NE(error.find(last + "), got \"pentium\""), std::string::npos) << error;
}

}  // namespace
}  // namespace residual::kernels
