#include "kernels/matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "kernels/multiply.h"

namespace residual::kernels {
namespace {

constexpr size_t kCacheLine = 64;
// int32 sums of |128 * 127| per input stay exact.
constexpr int kMostInt8Inputs = (1 << 30) / (128 * 127);

int64_t groups(const Panels& p) { return (p.in + p.group - 1) / p.group; }
int64_t columns(const Panels& p) { return int64_t{(p.out + kPanel - 1) / kPanel} * kPanel; }

int element_bytes(Precision precision) {
  switch (precision) {
    case Precision::float32:
      return 4;
    case Precision::float16:
      return 2;
    case Precision::int8:
      return 1;
  }
  return 0;
}

// Where weight [o, i] lies.
int64_t place(const Panels& p, int o, int i) {
  return ((o / kPanel * groups(p) + i / p.group) * kPanel + o % kPanel) * p.group + i % p.group;
}

// IEEE half precision, ties to even. REQUIRES: |x| < 65520.
uint16_t half(float x) {
  const auto bits = std::bit_cast<uint32_t>(std::fabs(x));
  const uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  if (bits < 0x38800000) {  // subnormal, below 2^-14: the last bit of |x| + 0.5 is worth 2^-24
    return static_cast<uint16_t>(sign |
                                 (std::bit_cast<uint32_t>(std::fabs(x) + 0.5F) - 0x3F000000));
  }
  const uint32_t rounded = bits + 0xFFF + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | (rounded - (112U << 23)) >> 13);
}

// Lays out weight [out, in]; zeros where the panels reach beyond it. A cache line of inputs at a
// time, so that both sides of the transposition stay in the cache.
template <class Target, class Source, class Convert>
void pack(const Panels& p, const Source* weight, const Convert& convert) {
  constexpr int kInputs = 16;
  const auto height = static_cast<int>(groups(p) * p.group);
  auto* to = static_cast<Target*>(p.weights);
  for (int first = 0; first < p.out; first += kPanel, to += int64_t{height} * kPanel) {
    for (int begin = 0; begin < height; begin += kInputs) {
      for (int o = 0; o < kPanel; ++o) {
        const Source* row = weight + int64_t{first + o} * p.in;
        const int inputs = first + o < p.out ? p.in : 0;
        for (int i = begin; i < std::min(begin + kInputs, height); i += p.group) {
          Target* group = to + int64_t{i} * kPanel + int64_t{o} * p.group;
          for (int g = 0; g < p.group; ++g) {
            group[g] = i + g < inputs ? convert(row[i + g]) : Target{0};
          }
        }
      }
    }
  }
}

}  // namespace

void PackedMatrix::Free::operator()(void* memory) const { std::free(memory); }

void PackedMatrix::allocate(const float* bias) {
  Panels& p = panels_;
  require(p.out > 0 && p.in > 0, "a weight matrix needs outputs and inputs, not [{}, {}]", p.out,
          p.in);
  const size_t wide = columns(p);
  const size_t weights = wide * groups(p) * p.group * element_bytes(p.precision);  // of 64 bytes
  const size_t total = weights + 3 * wide * sizeof(float);
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kCacheLine, total)));
  require(memory_ != nullptr, "no memory for {} bytes of weights", total);
  std::memset(memory_.get() + weights, 0, total - weights);
  p.weights = memory_.get();
  p.bias = reinterpret_cast<float*>(memory_.get() + weights);
  p.scales = p.bias + wide;
  p.correction = reinterpret_cast<int32_t*>(p.scales + wide);
  if (bias != nullptr) std::copy_n(bias, p.out, p.bias);
}

PackedMatrix::PackedMatrix(const float* weight, const float* bias, int out, int in,
                           Precision precision) {
  if (precision == Precision::int8) {
    std::vector<int8_t> quantized(static_cast<size_t>(out) * in);
    std::vector<float> scales(out);
    quantize(weight, out, in, quantized.data(), scales.data());
    *this = PackedMatrix(quantized.data(), scales.data(), bias, out, in);
    return;
  }
  panels_ = {.out = out, .in = in, .precision = precision};
  allocate(bias);
  if (precision == Precision::float32) {
    pack<float>(panels_, weight, [](float w) { return w; });
    return;
  }
  pack<uint16_t>(panels_, weight, [](float w) {
    require(std::fabs(w) < 65504, "a weight of {} does not fit float16", w);
    return half(w);
  });
}

PackedMatrix::PackedMatrix(const int8_t* weight, const float* scales, const float* bias, int out,
                           int in) {
  require(in <= kMostInt8Inputs, "int8 products take at most {} inputs, not {}", kMostInt8Inputs,
          in);
  panels_ = {.out = out, .in = in, .precision = Precision::int8, .group = int8_group()};
  allocate(bias);
  std::copy_n(scales, out, panels_.scales);
  pack<int8_t>(panels_, weight, [](int8_t w) { return w; });
  for (int o = 0; o < out; ++o, weight += in) {
    panels_.correction[o] = -128 * std::accumulate(weight, weight + in, int32_t{0});
  }
}

void PackedMatrix::unpack(int8_t* weight, float* scales) const {
  require(precision() == Precision::int8, "only int8 weights can be unpacked");
  std::copy_n(panels_.scales, out(), scales);
  for (int o = 0; o < out(); ++o) {
    for (int i = 0; i < in(); ++i) {
      weight[int64_t{o} * in() + i] =
          static_cast<const int8_t*>(panels_.weights)[place(panels_, o, i)];
    }
  }
}

void PackedMatrix::multiply(const Product& product) const {
  thread_local std::vector<std::byte> scratch;  // grows to the thread's largest int8 product
  Product p = product;
  if (p.x_stride == 0) p.x_stride = in();
  if (p.y_stride == 0) p.y_stride = out();
  if (p.last_panel < 0) p.last_panel = panels();
  switch (precision()) {
    case Precision::float32:
      return multiply_float32(panels_, p);
    case Precision::float16:
      return multiply_float16(panels_, p);
    case Precision::int8:
      const size_t bytes = p.rows * (groups(panels_) + 1) * sizeof(int32_t);
      if (scratch.size() < bytes) scratch.resize(bytes);
      return multiply_int8(panels_, p, scratch.data());
  }
}

void quantize(const float* source, int out, int in, int8_t* weight, float* scales) {
  constexpr uint32_t kInfinity = 0x7F800000;
  constexpr float kRounder = 0x1.8p23F;  // adding and subtracting it rounds, ties to even
  for (int64_t o = 0; o < out; ++o, source += in, weight += in) {
    // |x| as an integer: ordered like the numbers, with infinity and NaN above them.
    uint32_t most_bits = 0;
    for (int i = 0; i < in; ++i) {
      most_bits = std::max(most_bits, std::bit_cast<uint32_t>(source[i]) & ~(1U << 31));
    }
    require(most_bits < kInfinity, "row {} of a weight matrix has {}: it cannot be quantised", o,
            std::bit_cast<float>(most_bits));
    const float most = std::bit_cast<float>(most_bits);
    scales[o] = most / 127;
    const float divisor = most > 0 ? most : 1;
    for (int i = 0; i < in; ++i) {
      const float rounded = (source[i] / divisor * 127 + kRounder) - kRounder;
      weight[i] = static_cast<int8_t>(static_cast<int32_t>(rounded));
    }
  }
}

}  // namespace residual::kernels
