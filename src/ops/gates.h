#pragma once

#include <vector>

#include "ops/tensor.h"

// Numbers that weigh the residual streams of each row: what schemes::GatedArithmetic asks for, in
// plain ATen for any device and type. The matrices are a few columns wide, and the sums over
// streams are one pass over memory each.
namespace residual::ops {

// [n, m], or [1, m]: the same for all rows.
struct Gates {
  Tensor values;
};

// x w^T of rows x [n, d] and w [m, d], or [m, 1]: vectors of equal elements.
Gates dots(const Tensor& w, const Tensor& x);
// start + b.
Gates constant(const Tensor& b, const std::vector<double>& start);
// g / sqrt(mean square of a row of all streams + epsilon).
Gates over_rms(const Gates& g, const std::vector<Tensor>& streams, double epsilon);

Gates add(const Gates& g, const Gates& h);
Gates columns(const Gates& g, int first, int count);
Gates join(const std::vector<Gates>& parts);
Gates tanh(const Gates& g);
Gates sigmoid(const Gates& g, double c);  // c / (1 + e^-g)
Gates softmax(const Gates& g);            // over the columns
// Divides the columns, then the rows, of the square matrices e^g by their sums, `rounds` times.
Gates sinkhorn(const Gates& g, int rounds);

// x + g_column f.
Tensor add(const Tensor& x, const Gates& g, int column, const Tensor& f);
// g_column x.
Tensor scale(const Gates& g, int column, const Tensor& x);

}  // namespace residual::ops
