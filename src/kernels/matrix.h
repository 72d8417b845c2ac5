#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace residual::kernels {

// How a PackedMatrix keeps its weights. Products are float32 in and out, whichever it is.
enum class Precision {
  float32,
  float16,  // half the memory traffic, 11 bits; sums stay float32
  int8,     // per-output scales; rows of x are quantised as they come, sums are exact int32
};

// What happens to v = x W^T + bias.
enum class Epilogue {
  none,  // y = v
  relu,  // y = max(v, 0)
  add,   // y = y + v
};

// One call of PackedMatrix::multiply.
struct Product {
  const float* x = nullptr;  // [rows, in]
  int64_t rows = 0;
  float* y = nullptr;  // [rows, out]; must not overlap x
  Epilogue epilogue = Epilogue::none;
  int64_t x_stride = 0;  // elements between rows; 0: in
  int64_t y_stride = 0;  // 0: out
  // Only the columns of these panels of y are written: [first_panel * kPanel, last_panel * kPanel).
  int first_panel = 0;
  int last_panel = -1;  // -1: all
};

constexpr int kPanel = 64;  // columns of y whose weights are laid out together

// Where a PackedMatrix keeps things; the kernels' view of it.
struct Panels {
  int out = 0, in = 0;
  Precision precision = Precision::float32;
  // Inputs that lie side by side for each output: 1, but for int8 as many as the CPU's dot product
  // instruction takes. A layout of memory, never of a file.
  int group = 1;
  void* weights = nullptr;        // [panels][ceil(in / group)][kPanel][group], zero-padded
  float* bias = nullptr;          // [panels * kPanel], as are all below; zero if there is none
  float* scales = nullptr;        // int8 only
  int32_t* correction = nullptr;  // int8 only: where the sums start, see multiply.cpp
};

// A weight matrix W [out, in] and an optional bias, laid out once for y = x W^T + bias.
//
// Every element of y is one chain of fused multiply-adds over the inputs in their order, started at
// the bias: it does not depend on the other rows, their number, the panels asked for or the
// thread. Immutable after construction; multiply() may run in many threads at once and allocates
// nothing once a thread has seen its largest product.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  PackedMatrix(const float* weight, const float* bias, int out, int in, Precision precision);
  // int8 weights as a model file stores them: weight [out, in], W = scales[o] * weight[o, i].
  PackedMatrix(const int8_t* weight, const float* scales, const float* bias, int out, int in);

  void multiply(const Product& product) const;

  // The int8 weights [out, in] and scales [out] again, bit for bit. REQUIRES: precision() == int8.
  void unpack(int8_t* weight, float* scales) const;

  int out() const { return panels_.out; }
  int in() const { return panels_.in; }
  int panels() const { return (panels_.out + kPanel - 1) / kPanel; }
  Precision precision() const { return panels_.precision; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };

  void allocate(const float* bias);

  Panels panels_;
  std::unique_ptr<std::byte, Free> memory_;  // what panels_ points into
};

// Symmetric int8 weights: scales[o] = max_i |W[o, i]| / 127, weight = round(W / scale), ties to
// even.
void quantize(const float* source, int out, int in, int8_t* weight, float* scales);

}  // namespace residual::kernels
