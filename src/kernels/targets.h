#pragma once

// The instruction sets that the kernels are compiled for; include this before any header of
// Highway. Added: AVX-512 with VNNI, and emulated vectors for CPUs that have nothing better
// (Highway omits them for old compilers; the tests run them). Omitted: SSSE3, because every CPU of
// the last fifteen years has more, and SVE, whose vectors cannot be kept in arrays.
#define HWY_WANT_AVX3_DL 1
#define HWY_BROKEN_EMU128 0
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

// AVX-VNNI beside HWY_AVX2: not a target of Highway's, but a bit of hwy::SupportedTargets() that no
// target has.
#define RESIDUAL_AVX_VNNI (1LL << 10)
