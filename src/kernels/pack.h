#pragma once

#include <cstddef>
#include <cstdint>

// The half of packing that depends on the instruction set.
namespace residual::kernels {

// to[j][o] = rows[o][j] for kPanel rows of `depth` words each. The rows need not be aligned. As
// many bytes as they have are fetched from `ahead` on meanwhile: the CPU does not see what comes
// next where many rows are read side by side.
void transpose_panel(const std::byte* const* rows, int64_t depth, const std::byte* ahead,
                     uint32_t* to);
void transpose_panel(const std::byte* const* rows, int64_t depth, const std::byte* ahead,
                     uint16_t* to);

// IEEE half precision, ties to even. Returns max |x|, infinite or NaN if an element is; below
// 65504, or what is written means nothing.
float round_to_half(const float* x, int64_t count, uint16_t* halves);

// Writes round(127 x / most), for int16 32767, with most = max |x|, ties to even, zeros if most is
// zero; returns most. If that is infinite or NaN, so is an element of x, and nothing is written.
float round_to_int8(const float* x, int64_t count, int8_t* rounded);
float round_to_int16(const float* x, int64_t count, int16_t* rounded);

int32_t sum(const int8_t* x, int64_t count);

}  // namespace residual::kernels
