#pragma once

#include <tuple>

#include "ops/dropout.h"
#include "ops/tensor.h"

// What happens at a block's boundary: the block's output f is dropped out, joins the residual
// streams, and the sum is normalised.
namespace residual::ops {

struct Affine {
  Tensor weight, bias;
  double epsilon;
};

// A block's output before its dropout.
struct Branch {
  Tensor f;
  Dropout dropout;
};

namespace reference {

// LN(x) = (x - mean) / sqrt(variance + epsilon) * weight + bias, for each row.
Tensor norm(const Tensor& x, const Affine& ln);
// LN(x + drop(f)).
Tensor add_norm(const Tensor& x, const Branch& branch, const Affine& ln);
// {LN(x + drop(f)), d + eta drop(f)}: both streams of ResiDual, one dropout.
std::tuple<Tensor, Tensor> dual_add_norm(const Tensor& x, const Tensor& d, const Branch& branch,
                                         double eta, const Affine& ln);
// x + c drop(f).
Tensor add(const Tensor& x, double c, const Branch& branch);

}  // namespace reference

// The same, by kernels where they fit.
Tensor norm(const Tensor& x, const Affine& ln);
Tensor add_norm(const Tensor& x, const Branch& branch, const Affine& ln);
std::tuple<Tensor, Tensor> dual_add_norm(const Tensor& x, const Tensor& d, const Branch& branch,
                                         double eta, const Affine& ln);
Tensor add(const Tensor& x, double c, const Branch& branch);

}  // namespace residual::ops
