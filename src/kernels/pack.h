#pragma once

#include <cstddef>
#include <cstdint>

// The part of packing that depends on the instruction set.
namespace residual::kernels {

// Sets to[j][o] = rows[o][j] for kPanel rows of `depth` words each. The rows need not be aligned.
// Meanwhile it prefetches as many bytes from `ahead` on, because the CPU's prefetcher does not
// follow many rows that are read in parallel.
void transpose_panel(const std::byte* const* rows, int64_t depth, const std::byte* ahead,
                     uint32_t* to);
void transpose_panel(const std::byte* const* rows, int64_t depth, const std::byte* ahead,
                     uint16_t* to);

// Converts to IEEE half precision, ties to even. Returns max |x|, which is infinite or NaN if an
// element is. The output is valid only if it is below 65504.
float round_to_half(const float* x, int64_t count, uint16_t* halves);

// Writes round(127 x / most), for int16 with 32767, where most = max |x|; ties to even, zeros if
// most is zero. Returns most. If an element of x is infinite or NaN, so is most, and nothing is
// written.
float round_to_int8(const float* x, int64_t count, int8_t* rounded);
float round_to_int16(const float* x, int64_t count, int16_t* rounded);

int32_t sum(const int8_t* x, int64_t count);

}  // namespace residual::kernels
