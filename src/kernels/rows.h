#pragma once

#include <cstdint>

// The element-wise and row-wise functions between matrix products. Matrices are row-major
// [rows, width] without gaps, of any width. An output may be the same buffer as an input, but must
// not overlap one partially.
namespace residual::kernels {

// LN(x)_j = (x_j - mean(x)) / sqrt(var(x) + epsilon) * weight_j + bias_j, the variance over
// `width`, not width - 1.
struct Norm {
  const float* weight = nullptr;  // [width]
  const float* bias = nullptr;    // [width]
  float epsilon = 1e-5F;
};

// y = LN(x)
void layer_norm(const Norm& norm, const float* x, int64_t rows, int64_t width, float* y);
// y = LN(x + f)
void add_layer_norm(const Norm& norm, const float* x, const float* f, int64_t rows, int64_t width,
                    float* y);
// y = LN(x + f), d_out = d + eta f: a block boundary of ResiDual in one pass.
void add_both(const Norm& norm, const float* x, const float* d, const float* f, float eta,
              int64_t rows, int64_t width, float* y, float* d_out);

// Functions over `count` elements:
void add(const float* x, const float* f, int64_t count, float* y);                  // x + f
void add_scaled(const float* x, float c, const float* f, int64_t count, float* y);  // x + c f
void scale(float c, const float* x, int64_t count, float* y);                       // c x
void swish(const float* x, int64_t count, float* y);  // x / (1 + e^-x)
// y_ij = w_j x_ij
void scale_columns(const float* w, const float* x, int64_t rows, int64_t width, float* y);

}  // namespace residual::kernels
