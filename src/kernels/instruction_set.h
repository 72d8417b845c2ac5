#pragma once

namespace residual::kernels {

// Returns Highway's name of the instruction set that the kernels use on this CPU: "AVX3_DL".
const char* instruction_set();

}  // namespace residual::kernels
