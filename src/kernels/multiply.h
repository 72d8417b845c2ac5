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

void multiply_int8(const Panels& m, const Product& p);
// The same with unpacked weights [out, in] and without a correction.
// REQUIRES: PackedMatrix::fits_unpacked(out, in, Precision::int8).
void multiply_int8_rows(const Panels& m, const Product& p);

// How int8 weights lie in panels on this CPU.
struct Int8Layout {
  int group = 1;   // Panels::group
  int groups = 1;  // whose number is a multiple of this
  bool fits_unpacked = false;

  // Returns the number of groups of a row.
  constexpr int64_t depth(int64_t in) const {
    const int64_t inputs = int64_t{group} * groups;
    return (in + inputs - 1) / inputs * groups;
  }
};
Int8Layout int8_layout();

}  // namespace residual::kernels
