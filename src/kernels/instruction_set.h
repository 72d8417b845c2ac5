#pragma once

namespace residual::kernels {

// Returns Highway's name of the instruction set that the kernels use on this CPU: "AVX3_DL". Throws
// if the environment variable RESIDUAL_CPU names none of this CPU's.
const char* instruction_set();

}  // namespace residual::kernels
