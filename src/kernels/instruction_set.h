#pragma once

namespace residual::kernels {

// Highway's name for the instruction set that the kernels use on this CPU: "AVX3_DL".
const char* instruction_set();

}  // namespace residual::kernels
