#pragma once

#include <cstdint>

#include "training_kernels/dropout.h"

// The operations before and after the matrix products of training. Matrices are row-major without
// gaps.
namespace residual::kernels {

// Adds y_ij += bias_j for rows [rows, width].
void add_bias(const float* bias, int64_t rows, int64_t width, float* y);

// Sets y = drop(max(0, y + bias)); elements are numbered from `first` on.
void bias_relu_dropout(const float* bias, const Dropout& dropout, int64_t first, int64_t rows,
                       int64_t width, float* y);
// Sets dx = dy times dropout's scale where y > 0, and 0 elsewhere. A dropped element is 0 in y, so
// the mask need not be computed again.
void relu_dropout_gradient(const float* y, const float* dy, const Dropout& dropout, int64_t count,
                           float* dx);

// Adds sums_j += sum_i x_ij.
void add_column_sums(const float* x, int64_t rows, int64_t width, float* sums);

// Sets y = drop(factor * table[id] + positions[place]) for each row.
struct Lookup {
  int64_t rows = 0, width = 0;
  float factor = 1;
  Dropout dropout;
  const int64_t *ids = nullptr, *places = nullptr;
  const float *table = nullptr, *positions = nullptr;
};
void look_up(const Lookup& p, float* y);
// Adds the gradient to dtable, row by row in order.
void look_up_gradient(const Lookup& p, const float* dy, float* dtable);

// Adds y += c x.
void accumulate(float c, const float* x, int64_t count, float* y);

}  // namespace residual::kernels
