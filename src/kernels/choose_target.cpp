// The choice of the instruction set, which Highway's headers declare and its library defines. The
// library is not linked because Debian's build measures the clock whenever a program loads it,
// which takes 4 of the 10 ms of `residual --version`.
#include "kernels/targets.h"
//
#include <hwy/targets.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace hwy {
namespace {

int64_t set_for_test = 0;

// Each instruction set includes those before it, so the first missing one ends the list.
int64_t detected() {
  int64_t targets = HWY_STATIC_TARGET | HWY_EMU128;
#if HWY_ARCH_X86
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul") ||
      !__builtin_cpu_supports("aes")) {
    return targets;
  }
  targets |= HWY_SSE4;
  // Clang's __builtin_cpu_supports() does not know F16C and VAES.
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  const bool has_vaes = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & bit_VAES) != 0;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") ||
      !__builtin_cpu_supports("fma") || !has_f16c) {
    return targets;
  }
  targets |= HWY_AVX2;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw")) {
    return targets;
  }
  targets |= HWY_AVX3;
  if (!has_vaes || !__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("vpclmulqdq") ||
      !__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512vbmi2") ||
      !__builtin_cpu_supports("avx512bitalg") || !__builtin_cpu_supports("avx512vpopcntdq")) {
    return targets;
  }
  targets |= HWY_AVX3_DL;
#endif
  return targets;
}

}  // namespace

int64_t SupportedTargets() { return set_for_test != 0 ? set_for_test : detected(); }

void SetSupportedTargetsForTest(int64_t targets) {
  set_for_test = targets;
  GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
