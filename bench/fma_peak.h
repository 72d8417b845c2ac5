#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>

#include "kernels/instruction_set.h"

namespace residual {

#if defined(__x86_64__)
// Steps of ten independent chains of fused multiply-adds in registers.
template <int kBytes>
void fma_chains(int64_t steps);

#define RESIDUAL_FMA_CHAINS(bytes, isa, name)                                                    \
  template <>                                                                                    \
  [[gnu::target(isa), gnu::noinline]] inline void fma_chains<bytes>(int64_t steps) {             \
    for (int64_t k = 0; k < steps; ++k) {                                                        \
      asm volatile("vfmadd231ps %%" name "0, %%" name "0, %%" name                               \
                   "1\n"                                                                         \
                   "vfmadd231ps %%" name "0, %%" name "0, %%" name                               \
                   "2\n"                                                                         \
                   "vfmadd231ps %%" name "0, %%" name "0, %%" name                               \
                   "3\n"                                                                         \
                   "vfmadd231ps %%" name "0, %%" name "0, %%" name                               \
                   "4\n"                                                                         \
                   "vfmadd231ps %%" name "0, %%" name "0, %%" name                               \
                   "5\n"                                                                         \
                   "vfmadd231ps %%" name "0, %%" name "0, %%" name                               \
                   "6\n"                                                                         \
                   "vfmadd231ps %%" name "0, %%" name "0, %%" name                               \
                   "7\n"                                                                         \
                   "vfmadd231ps %%" name "0, %%" name "0, %%" name                               \
                   "8\n"                                                                         \
                   "vfmadd231ps %%" name "0, %%" name "0, %%" name                               \
                   "9\n"                                                                         \
                   "vfmadd231ps %%" name "0, %%" name "0, %%" name "10\n" ::                     \
                       : "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                         "xmm10");                                                               \
    }                                                                                            \
  }
RESIDUAL_FMA_CHAINS(32, "avx2,fma", "ymm")
RESIDUAL_FMA_CHAINS(64, "avx512f", "zmm")
#undef RESIDUAL_FMA_CHAINS
#endif

// Returns the GFLOP/s of one core's fused multiply-adds with the vectors that the kernels use: the
// best of several runs by CPU time. 0 where it is not known.
inline double fma_peak() {
  double best = 0;
#if defined(__x86_64__)
  const std::string set = kernels::instruction_set();
  if (!set.starts_with("AVX")) return 0;
  const bool is_wide = set.starts_with("AVX3");
  constexpr int64_t kSteps = 50000;
  for (int run = 0; run < 20; ++run) {
    timespec begin{}, end{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    is_wide ? fma_chains<64>(kSteps) : fma_chains<32>(kSteps);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    const double ns = 1e9 * static_cast<double>(end.tv_sec - begin.tv_sec) +
                      static_cast<double>(end.tv_nsec - begin.tv_nsec);
    best = std::max(best, static_cast<double>(kSteps) * 10 * (is_wide ? 32 : 16) / ns);
  }
#endif
  return best;
}

}  // namespace residual
