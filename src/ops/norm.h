#pragma once

#include <tuple>

#include "ops/dropout.h"
#include "ops/tensor.h"

// The operators of a block boundary: dropout of the block's output f, its addition to the residual
// streams, and the norm of the sum.
namespace residual::ops {

struct Affine {
  Tensor weight, bias;  // undefined: 1 and 0; RMSNorm has no bias
  double epsilon;
  bool is_rms = false;
};

// A block's output before its dropout.
struct Branch {
  Tensor f;
  Dropout dropout;
};

namespace reference {

// LN(x) = (x - mean) / sqrt(variance + epsilon) * weight + bias, for each row, or RMSNorm(x) =
// x / sqrt(mean(x^2) + epsilon) * weight.
Tensor norm(const Tensor& x, const Affine& ln);
// LN(x + drop(f)).
Tensor add_norm(const Tensor& x, const Branch& branch, const Affine& ln);
// {LN(x + drop(f)), d + eta drop(f)}: both streams of ResiDual, one dropout.
std::tuple<Tensor, Tensor> dual_add_norm(const Tensor& x, const Tensor& d, const Branch& branch,
                                         double eta, const Affine& ln);
// x + c drop(f).
Tensor add(const Tensor& x, double c, const Branch& branch);

}  // namespace reference

// The same functions, by kernels where they apply.
Tensor norm(const Tensor& x, const Affine& ln);
Tensor add_norm(const Tensor& x, const Branch& branch, const Affine& ln);
std::tuple<Tensor, Tensor> dual_add_norm(const Tensor& x, const Tensor& d, const Branch& branch,
                                         double eta, const Affine& ln);
Tensor add(const Tensor& x, double c, const Branch& branch);

}  // namespace residual::ops
