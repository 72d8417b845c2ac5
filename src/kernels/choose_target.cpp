// The choice of the instruction set, which Highway's headers declare and its library defines. The
// library is not linked because Debian's build measures the clock whenever a program loads it,
// which takes 4 of the 10 ms of `residual --version`.
#include "kernels/targets.h"
//
#include <hwy/targets.h>
#include <strings.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <string>

#include "base/error.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace hwy {
namespace {

int64_t set_for_test = 0;
std::atomic<int64_t> supported = 0;  // 0: not known yet

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
  constexpr unsigned kAvxVnni = 1 << 4;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvxVnni) != 0) {
    targets |= RESIDUAL_AVX_VNNI;
  }
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

std::string lower_case_name(int64_t target) {
  std::string name = TargetName(target);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

// The environment variable RESIDUAL_CPU names the best instruction set that kernels may use. In
// Highway's masks a better one has a lower bit. AVX2 includes AVX-VNNI only by its own name.
int64_t allowed(int64_t targets) {
  const char* const limit = std::getenv("RESIDUAL_CPU");
  if (limit == nullptr || *limit == '\0') return targets;
  std::string names;
  if ((targets & RESIDUAL_AVX_VNNI) != 0) {
    names = "avx2_vnni";
    if (strcasecmp(names.c_str(), limit) == 0) return targets & -HWY_AVX2;
  }
  for (int64_t rest = targets & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    const int64_t best = rest & -rest;
    if (strcasecmp(TargetName(best), limit) == 0) {
      return targets & -best & ~(best == HWY_AVX2 ? RESIDUAL_AVX_VNNI : 0);
    }
    names += (names.empty() ? "" : ", ") + lower_case_name(best);
  }
  residual::fail("RESIDUAL_CPU: expected an instruction set of this CPU ({}), got \"{}\"", names,
                 limit);
}

}  // namespace

int64_t SupportedTargets() {
  int64_t targets = supported.load(std::memory_order_relaxed);
  if (targets == 0) {
    targets = set_for_test != 0 ? set_for_test : allowed(detected());
    supported.store(targets, std::memory_order_relaxed);
  }
  return targets;
}

void SetSupportedTargetsForTest(int64_t targets) {
  set_for_test = targets;
  supported = 0;
  GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
