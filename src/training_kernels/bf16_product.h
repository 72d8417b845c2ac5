#pragma once

#include <cstdint>

#include "training_kernels/bf16.h"
#include "training_kernels/product.h"
#include "training_kernels/words.h"

// Products of bfloat16 matrices with float32 sums, for training.
//
// Every element of a product is one chain of fused multiply-adds in the order of AVX512-BF16: for
// k = 0, 2, 4 ... it adds the term of k + 1, then that of k; a term that is missing at the end is
// zero. CPUs with this extension use its instruction. Others make the same sums of float32
// operations, with the same bits if they have fused multiply-adds (AVX2 and later, Arm), except
// that the instruction makes sums below 2^-126 zero. An element does not depend on the number of
// rows or columns around it.
namespace residual::kernels {

// Tells whether products use the instruction.
bool has_bf16_products();

// A matrix in bfloat16, or in float32 that is rounded when it is read.
struct Operand {
  const float* floats = nullptr;
  const Bf16* halves = nullptr;  // if floats is null
  int64_t rows = 0, columns = 0;
  int64_t stride = 0;

  // Rows [begin, begin + count).
  Operand part(int64_t begin, int64_t count) const;
};
Operand operand(const float* floats, int64_t rows, int64_t columns);
Operand operand(const Bf16* halves, int64_t rows, int64_t columns);

// The right factor of products, rounded and in the order in which they read it.
class PackedFactor {
 public:
  static PackedFactor of(const Operand& w);             // w, for dx = dy w
  static PackedFactor of_transposed(const Operand& w);  // w^T, for y = x w^T

  const uint32_t* pairs() const { return memory_.data(); }
  int64_t inner() const { return inner_; }
  int64_t columns() const { return columns_; }

 private:
  PackedFactor(int64_t inner, int64_t columns);

  Words memory_;
  int64_t inner_, columns_;
};

// c = a b, each sum beginning with its column's bias if there is one.
void multiply(const Operand& a, const PackedFactor& b, const float* bias, const Matrix<float>& c);

// dw += dy^T x, or = without `add`; the sums begin with dw. db += column sums of the rounded dy, if
// there is one.
void weight_gradient(const Operand& dy, const Operand& x, const Matrix<float>& dw, bool add,
                     float* db = nullptr);

}  // namespace residual::kernels
