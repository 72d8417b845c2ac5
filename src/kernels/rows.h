#pragma once

#include <cstdint>

// The element-wise and row-wise functions between matrix products. Matrices are row-major
// [rows, width] without gaps, of any width. An output may be the same buffer as an input, but must
// not overlap one partially.
namespace residual::kernels {

// LN(x)_j = (x_j - mean(x)) / sqrt(var(x) + epsilon) * weight_j + bias_j, the variance over
// `width`, not width - 1. RMSNorm: x_j / sqrt(mean(x^2) + epsilon) * weight_j.
struct Norm {
  const float* weight = nullptr;  // [width]
  const float* bias = nullptr;    // [width]; RMSNorm has none
  float epsilon = 1e-5F;
  bool is_rms = false;
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
void multiply(const float* x, const float* f, int64_t count, float* y);             // x f
void relu(const float* x, int64_t count, float* y);                                 // max(x, 0)
void swish(const float* x, int64_t count, float* y);  // x / (1 + e^-x)
// x Phi(x), Phi the normal distribution's function; within 3e-7 of it for x in [-1, 1], and of x
// beyond.
void gelu(const float* x, int64_t count, float* y);
// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
void gelu_tanh(const float* x, int64_t count, float* y);
// y_ij = w_j x_ij
void scale_columns(const float* w, const float* x, int64_t rows, int64_t width, float* y);

// Rotates the pairs (j, width / 2 + j) of each of `heads` consecutive heads of x in place. `turn`
// [width] has the cosines of the angles, then the sines.
void rotate(const float* turn, int heads, int64_t width, float* x);

}  // namespace residual::kernels
