#pragma once

#include "kernels/matrix.h"

// The half of PackedMatrix that depends on the instruction set. A product's strides and panels are
// filled in.
namespace residual::kernels {

void multiply_float32(const Panels& m, const Product& p);
void multiply_float16(const Panels& m, const Product& p);
void multiply_int16(const Panels& m, const Product& p);
// float32 weights [out, in], not in panels. REQUIRES: PackedMatrix::fits_unpacked(out, in).
void multiply_rows(const Panels& m, const Product& p);

// `scratch` holds, for each row, ceil(in / group) words of 32 bits and one more.
void multiply_int8(const Panels& m, const Product& p, std::byte* scratch);
// The same with weights [out, in], not in panels, and no correction.
// REQUIRES: PackedMatrix::fits_unpacked(out, in, Precision::int8).
void multiply_int8_rows(const Panels& m, const Product& p, std::byte* scratch);
// Panels::group of int8 weights on this CPU. Where it is 4, they need not be in panels.
int int8_group();

}  // namespace residual::kernels
