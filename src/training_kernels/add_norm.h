#pragma once

#include <cstdint>

#include "training_kernels/dropout.h"

namespace residual::kernels {

// A block boundary of training, in one pass over memory per row:
//
//   g  = drop(f)
//   a  = x + g
//   y  = (a - mean(a)) rstd(a) * weight + bias
//   d' = d + eta g                                  only if d is given
//
// RMSNorm takes 0 for the mean, and has no bias.
//
// Matrices are row-major [rows, width] without gaps. Without f, a = x. The gradient needs a, mean
// and rstd, so they are outputs.
struct AddNorm {
  int64_t rows = 0, width = 0;
  float epsilon = 1e-5F, eta = 1;
  bool is_rms = false;
  Dropout dropout;
  const float *x = nullptr, *f = nullptr, *d = nullptr;
  const float *weight = nullptr, *bias = nullptr;
  float *y = nullptr, *d_out = nullptr;
  float *sum = nullptr, *mean = nullptr, *rstd = nullptr;  // sum: a; may be null without f
};
void add_norm(const AddNorm& p);

// The gradient, from dy and, if there is a dual stream, dd (the gradient of d'):
//
//   da = the gradient of a through the norm
//   dx = da                    df = drop(da + eta dd)            dd goes on to d as it is
//
// The gradients of weight and bias are added to their buffers.
struct AddNormGradient {
  int64_t rows = 0, width = 0;
  float eta = 1;
  bool is_rms = false;
  Dropout dropout;
  const float *dy = nullptr, *dd = nullptr;
  const float *sum = nullptr, *mean = nullptr, *rstd = nullptr, *weight = nullptr;
  float *dx = nullptr, *df = nullptr;  // df null: there was no f
  float *dweight = nullptr, *dbias = nullptr;
};
void add_norm_gradient(const AddNormGradient& p);

// y = x + c drop(f), and df = c drop(dy).
struct AddDropped {
  int64_t count = 0;
  float c = 1;
  Dropout dropout;
  const float *x = nullptr, *f = nullptr;  // x null: y = c drop(f)
  float* y = nullptr;
};
void add_dropped(const AddDropped& p);

}  // namespace residual::kernels
