#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace residual::kernels {

// The storage format of a PackedMatrix. Products are float32 in and out with every format.
enum class Precision {
  float32,
  float16,  // half the memory traffic, 11 bits; sums stay float32
  int8,     // per-output scales; rows of x are quantised on the fly, sums are exact int32
  int16,    // per-output scales; otherwise as float16, for a PackedMatrix only
};
// Those that a model can be loaded with, which int16 is not.
constexpr auto names(Precision) { return std::array{"fp32", "fp16", "int8"}; }

// The function applied to v = x W^T + bias.
enum class Epilogue {
  none,  // y = v
  relu,  // y = max(v, 0)
};

// The arguments of PackedMatrix::multiply.
struct Product {
  const float* x = nullptr;  // [rows, in]
  int64_t rows = 0;
  float* y = nullptr;  // [rows, out]; must not overlap x
  Epilogue epilogue = Epilogue::none;
  // A hint that many elements of x are zero, as after ReLU. With few rows and packed float weights,
  // weights that would meet only zeros are not read. The sums are the same for finite weights.
  bool is_sparse = false;
  int64_t x_stride = 0;  // elements between rows; 0: in
  int64_t y_stride = 0;  // 0: out
  int64_t y_column = 0;  // the first column of y
  // Only the columns of these panels of y are written: [first_panel * kPanel, last_panel * kPanel).
  int first_panel = 0;
  int last_panel = -1;  // -1: all
};

constexpr int kPanel = 64;      // columns of y whose weights are laid out together
constexpr int kMostLanes = 16;  // floats in the widest vector of any CPU

// The kernels' view of a PackedMatrix.
struct Panels {
  int out = 0, in = 0;
  // [panels][ceil(in / group)][kPanel][group], zero-padded. `group` inputs lie side by side for
  // each output: 1, or for int8 as many as the CPU's dot product instruction takes (Int8Layout,
  // which may also round up the number of groups).
  const void* weights = nullptr;
  const float* bias = nullptr;    // [panels * kPanel], as are all below; zero if there is none
  const float* scales = nullptr;  // int16 and int8 only
  const int32_t* correction = nullptr;  // int8 only: where the sums start, see int8.h
};

// Memory of packed weights, aligned to a cache line; a part may keep the whole alive.
constexpr size_t kCacheLine = 64;
using Memory = std::shared_ptr<std::byte>;
using ReadOnlyMemory = std::shared_ptr<const std::byte>;

// A weight matrix W [out, in] and an optional bias, laid out once for y = x W^T + bias.
//
// Every element of y is one chain of fused multiply-adds over the inputs in order, starting at the
// bias. It does not depend on the other rows, their number, the requested panels or the thread. The
// object is immutable; multiply() may run in many threads at once and allocates nothing once a
// thread has seen its largest product.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // Packs into `memory`, of at least bytes(), or into newly allocated memory.
  PackedMatrix(const float* weight, const float* bias, int out, int in, Precision precision,
               Memory memory = nullptr);
  // float16 weights [out, in], as a model file stores them.
  PackedMatrix(const uint16_t* halves, const float* bias, int out, int in, Memory memory = nullptr);
  // int8 weights as a model file stores them: weight [out, in], W = scales[o] * weight[o, i].
  PackedMatrix(const int8_t* weight, const float* scales, const float* bias, int out, int in,
               Memory memory = nullptr);

  // Uses weights that are already packed, in place: float32, float16, or int16 with `scales`. Their
  // layout is part of a file format (docs/formats.md).
  PackedMatrix(ReadOnlyMemory packed, const float* bias, int out, int in, Precision precision,
               const float* scales = nullptr);

  // Uses unpacked float32 or int8 weights [out, in], which `weight` keeps alive. Products take
  // longer: with few rows, which wait for memory, up to 20 % (int8: 50 %); with many rows 50 %
  // (int8: 100 %).
  // REQUIRES: fits_unpacked(out, in, precision), for int8 weights on this CPU.
  static PackedMatrix unpacked(std::shared_ptr<const float> weight, const float* bias, int out,
                               int in);
  static PackedMatrix unpacked(std::shared_ptr<const int8_t> weight, const float* scales,
                               const float* bias, int out, int in);
  static bool fits_unpacked(int out, int in, Precision precision = Precision::float32);

  // The size of packed weights, a multiple of a cache line.
  static size_t bytes(int out, int in, Precision precision);
  std::span<const std::byte> packed() const;
  std::span<const std::byte> weights() const;                // packed or not, as products read them
  std::span<const float> scales() const { return scales_; }  // as in Panels

  void multiply(const Product& product) const;

  // Products call `listener` with the weights that they have just read, which are likely to be in a
  // cache. To be set before the first product; null: nobody listens.
  using Listener = std::function<void(std::span<const std::byte>)>;
  void set_listener(Listener listener) { listener_ = std::move(listener); }

  // Computes some columns of y for one row of x, with the same bits as multiply(): y[i] is column
  // columns[i]. Fast if the weights are unpacked. REQUIRES: fits_unpacked(out, in). `copy`, if
  // given, provides row o of W instead of weights().
  using CopyRow = std::function<void(int o, float* row)>;
  void multiply_some(const float* x, std::span<const int32_t> columns, float* y,
                     const CopyRow* copy = nullptr) const;

  // Returns the packed matrix of these rows of W. Its products have the same bits as the
  // corresponding columns of this one.
  PackedMatrix selected(std::span<const int32_t> rows) const;

  // Copies row `o` of W with the values that products use.
  void copy_row(int o, float* row) const;
  int out() const { return out_; }
  int in() const { return in_; }
  int panels() const { return (out_ + kPanel - 1) / kPanel; }
  Precision precision() const { return precision_; }

 private:
  PackedMatrix(const float* bias, int out, int in, Precision precision);
  template <class MakeRow>
  void pack(Memory memory, const MakeRow& make_row);
  void multiply_panels(const Product& product) const;
  Panels view() const;

  int out_ = 0, in_ = 0;
  Precision precision_ = Precision::float32;
  bool is_packed_ = true;
  ReadOnlyMemory weights_;
  Listener listener_;
  // As in Panels.
  std::vector<float> bias_, scales_;
  std::vector<int32_t> correction_;
};

// Converts to float16, ties to even. Throws if a number is too large for float16 or is NaN.
void halve(const float* source, int64_t out, int64_t in, uint16_t* halves);
float widened(uint16_t half);
void widen(const uint16_t* halves, int64_t count, float* numbers);

// Quantises to symmetric int8: scales[o] = max_i |W[o, i]| / 127, weight = round(W / scale), ties
// to even. Throws if a number is not finite.
void quantize(const float* source, int out, int in, int8_t* weight, float* scales);

}  // namespace residual::kernels
