#pragma once

// Which instruction sets the kernels are compiled for; included before any header of Highway.
// Added: AVX-512 with VNNI, and emulated vectors for CPUs that have nothing better (Highway leaves
// them out for old compilers; our tests run them). Left out: SSSE3, at which no CPU of the last
// fifteen years stops, and SVE, whose vectors cannot be kept in arrays.
#define HWY_WANT_AVX3_DL 1
#define HWY_BROKEN_EMU128 0
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
