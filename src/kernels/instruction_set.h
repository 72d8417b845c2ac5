#pragma once

namespace residual::kernels {

// Returns the name of the instruction set that the kernels use on this CPU: Highway's ("AVX3_DL"),
// or "AVX2_VNNI". Throws
// if the environment variable RESIDUAL_CPU names none of this CPU's.
const char* instruction_set();

// Whether the kernels for AVX2 may use AVX-VNNI, byte products of 256 bits. CPUs without AVX-512
// have it since Intel's Alder Lake.
bool has_avx_vnni();

}  // namespace residual::kernels
