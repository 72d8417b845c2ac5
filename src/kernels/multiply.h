#pragma once

#include "kernels/matrix.h"

// The part of PackedMatrix that depends on the instruction set. The caller has filled in a
// product's strides and panels.
namespace residual::kernels {

void multiply_float32(const Panels& m, const Product& p);
void multiply_float16(const Panels& m, const Product& p);
void multiply_int16(const Panels& m, const Product& p);
// Multiplies with unpacked float32 weights [out, in].
// REQUIRES: PackedMatrix::fits_unpacked(out, in).
void multiply_rows(const Panels& m, const Product& p);

// `scratch` holds, for each row, ceil(in / group) words of 32 bits and one more.
void multiply_int8(const Panels& m, const Product& p, std::byte* scratch);
// The same with unpacked weights [out, in] and without a correction.
// REQUIRES: PackedMatrix::fits_unpacked(out, in, Precision::int8).
void multiply_int8_rows(const Panels& m, const Product& p, std::byte* scratch);
// Returns Panels::group of int8 weights on this CPU. If it is 4, unpacked weights are supported.
int int8_group();

}  // namespace residual::kernels
