#include "kernels/matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "kernels/multiply.h"
#include "kernels/pack.h"

namespace residual::kernels {
namespace {

// The limit up to which int32 sums of at most |128 * 127| per input cannot overflow.
constexpr int kMostInt8Inputs = (1 << 30) / (128 * 127);

int element_bytes(Precision precision) {
  switch (precision) {
    case Precision::float32:
      return 4;
    case Precision::float16:
    case Precision::int16:
      return 2;
    case Precision::int8:
      return 1;
  }
  return 0;
}

int group_of(Precision precision) { return precision == Precision::int8 ? int8_layout().group : 1; }

// The number of input groups of a row.
int64_t depth_of(int in, Precision precision) {
  return precision == Precision::int8 ? int8_layout().depth(in) : in;
}

Memory aligned_memory(size_t bytes) {
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(kCacheLine, bytes)), std::free);
  require(memory != nullptr, "no memory for {} bytes of weights", bytes);
  return memory;
}

}  // namespace

size_t PackedMatrix::bytes(int out, int in, Precision precision) {
  const int64_t columns = int64_t{(out + kPanel - 1) / kPanel} * kPanel;
  return columns * depth_of(in, precision) * group_of(precision) * element_bytes(precision);
}

PackedMatrix::PackedMatrix(const float* bias, int out, int in, Precision precision)
    : out_(out), in_(in), precision_(precision) {
  require(out > 0 && in > 0, "a weight matrix needs outputs and inputs, got [{}, {}]", out, in);
  require(precision != Precision::int8 || in <= kMostInt8Inputs,
          "int8 products take at most {} inputs, got {}", kMostInt8Inputs, in);
  const int64_t columns = int64_t{panels()} * kPanel;
  bias_.resize(columns);
  if (bias != nullptr) std::copy_n(bias, out, bias_.begin());
  if (precision == Precision::int16 || precision == Precision::int8) scales_.resize(columns);
  if (precision == Precision::int8) correction_.resize(columns);
}

PackedMatrix::PackedMatrix(ReadOnlyMemory packed, const float* bias, int out, int in,
                           Precision precision, const float* scales)
    : PackedMatrix(bias, out, in, precision) {
  if (scales != nullptr) std::copy_n(scales, out, scales_.begin());
  weights_ = std::move(packed);
}

PackedMatrix PackedMatrix::unpacked(std::shared_ptr<const float> weight, const float* bias, int out,
                                    int in) {
  require(fits_unpacked(out, in), "weights [{}, {}] must be packed", out, in);
  PackedMatrix matrix(bias, out, in, Precision::float32);
  const auto* const bytes = reinterpret_cast<const std::byte*>(weight.get());
  matrix.weights_ = ReadOnlyMemory(std::move(weight), bytes);
  matrix.is_packed_ = false;
  return matrix;
}

PackedMatrix PackedMatrix::unpacked(std::shared_ptr<const int8_t> weight, const float* scales,
                                    const float* bias, int out, int in) {
  require(fits_unpacked(out, in, Precision::int8), "int8 weights [{}, {}] must be packed", out, in);
  const auto* const bytes = reinterpret_cast<const std::byte*>(weight.get());
  PackedMatrix matrix({std::move(weight), bytes}, bias, out, in, Precision::int8, scales);
  matrix.is_packed_ = false;
  return matrix;
}

bool PackedMatrix::fits_unpacked(int out, int in, Precision precision) {
  constexpr int kInt8Group = 4;  // of the CPUs that fit any
  const bool is_int8 = precision == Precision::int8;
  if (is_int8 && !int8_layout().fits_unpacked) return false;
  return in % (is_int8 ? kMostLanes * kInt8Group : kMostLanes) == 0 && out >= kMostLanes;
}

std::span<const std::byte> PackedMatrix::packed() const {
  return {weights_.get(), bytes(out_, in_, precision_)};
}

std::span<const std::byte> PackedMatrix::weights() const {
  if (is_packed_) return packed();
  return {weights_.get(), static_cast<size_t>(int64_t{out_} * in_ * element_bytes(precision_))};
}

// make_row(o, room) returns the bytes of row o. It may write them into `room`, whose remaining
// bytes are zero.
template <class MakeRow>
void PackedMatrix::pack(Memory memory, const MakeRow& make_row) {
  if (memory == nullptr) memory = aligned_memory(bytes(out_, in_, precision_));
  const int64_t depth = depth_of(in_, precision_);
  const int word = group_of(precision_) * element_bytes(precision_);
  const int64_t row_bytes = depth * word;
  std::vector<std::byte> room((kPanel + 1) * row_bytes);
  const std::byte* rows[kPanel];
  for (int first = 0; first < out_; first += kPanel) {
    for (int o = 0; o < kPanel; ++o) {
      std::byte* const own = room.data() + o * row_bytes;
      rows[o] = first + o < out_ ? make_row(first + o, own) : room.data() + kPanel * row_bytes;
    }
    std::byte* const to = memory.get() + first * row_bytes;
    const bool others_follow = rows[0] != room.data() && first + kPanel < out_;
    const std::byte* const ahead = rows[0] + (others_follow ? kPanel * row_bytes : 0);
    if (word == sizeof(uint32_t)) {
      transpose_panel(rows, depth, ahead, reinterpret_cast<uint32_t*>(to));
    } else {
      transpose_panel(rows, depth, ahead, reinterpret_cast<uint16_t*>(to));
    }
  }
  weights_ = std::move(memory);
}

PackedMatrix::PackedMatrix(const float* weight, const float* bias, int out, int in,
                           Precision precision, Memory memory)
    : PackedMatrix(bias, out, in, precision) {
  const auto row = [&](int o) { return weight + int64_t{o} * in; };
  switch (precision) {
    case Precision::float32:
      pack(std::move(memory),
           [&](int o, std::byte*) { return reinterpret_cast<const std::byte*>(row(o)); });
      break;
    case Precision::float16:
      pack(std::move(memory), [&](int o, std::byte* room) {
        halve(row(o), 1, in, reinterpret_cast<uint16_t*>(room));
        return room;
      });
      break;
    case Precision::int16:
      pack(std::move(memory), [&](int o, std::byte* room) {
        constexpr int kAhead = 4;  // rows are consumed faster than the CPU prefetches them
        for (int j = 0; j < in; j += kMostLanes) __builtin_prefetch(row(o + kAhead) + j, 0, 2);
        const float most = round_to_int16(row(o), in, reinterpret_cast<int16_t*>(room));
        // A row that cannot be rounded makes every product NaN.
        scales_[o] = std::isfinite(most) ? most / INT16_MAX : std::nanf("");
        return room;
      });
      break;
    case Precision::int8:
      pack(std::move(memory), [&](int o, std::byte* room) {
        auto* const rounded = reinterpret_cast<int8_t*>(room);
        quantize(row(o), 1, in, rounded, &scales_[o]);
        correction_[o] = -128 * sum(rounded, in);
        return room;
      });
  }
}

PackedMatrix::PackedMatrix(const uint16_t* halves, const float* bias, int out, int in,
                           Memory memory)
    : PackedMatrix(bias, out, in, Precision::float16) {
  pack(std::move(memory), [&](int o, std::byte*) {
    return reinterpret_cast<const std::byte*>(halves + int64_t{o} * in);
  });
}

PackedMatrix::PackedMatrix(const int8_t* weight, const float* scales, const float* bias, int out,
                           int in, Memory memory)
    : PackedMatrix(bias, out, in, Precision::int8) {
  std::copy_n(scales, out, scales_.begin());
  pack(std::move(memory), [&](int o, std::byte* room) {
    const int8_t* const row = weight + int64_t{o} * in;
    correction_[o] = -128 * sum(row, in);
    std::memcpy(room, row, in);
    return room;
  });
}

PackedMatrix PackedMatrix::selected(std::span<const int32_t> rows) const {
  PackedMatrix made(nullptr, static_cast<int>(rows.size()), in_, precision_);
  const int64_t depth = depth_of(in_, precision_);
  const int64_t word = int64_t{group_of(precision_)} * element_bytes(precision_);
  made.pack(nullptr, [&](int i, std::byte* room) {
    const int o = rows[i];
    made.bias_[i] = bias_[o];
    if (!scales_.empty()) made.scales_[i] = scales_[o];
    if (is_packed_) {
      const std::byte* from = weights_.get() + (o / kPanel * depth * kPanel + o % kPanel) * word;
      for (int64_t j = 0; j < depth; ++j)
        std::memcpy(room + j * word, from + j * kPanel * word, word);
    } else {
      const int64_t bytes = int64_t{in_} * element_bytes(precision_);
      std::memcpy(room, weights_.get() + o * bytes, bytes);
    }
    if (precision_ == Precision::int8) {
      made.correction_[i] = -128 * sum(reinterpret_cast<const int8_t*>(room), in_);
    }
    return room;
  });
  return made;
}

Panels PackedMatrix::view() const {
  return {.out = out_,
          .in = in_,
          .weights = weights_.get(),
          .bias = bias_.data(),
          .scales = scales_.data(),
          .correction = correction_.data()};
}

void PackedMatrix::copy_row(int o, float* row) const {
  if (!is_packed_ && precision_ == Precision::int8) {
    const auto* const q = reinterpret_cast<const int8_t*>(weights_.get()) + int64_t{o} * in_;
    for (int i = 0; i < in_; ++i) row[i] = scales_[o] * static_cast<float>(q[i]);
    return;
  }
  if (!is_packed_) {
    std::copy_n(reinterpret_cast<const float*>(weights_.get()) + int64_t{o} * in_, in_, row);
    return;
  }
  const int group = group_of(precision_);
  const int64_t first = int64_t{o / kPanel} * depth_of(in_, precision_) * group * kPanel;
  const auto copy = [&](auto* weights, auto&& value) {
    for (int i = 0; i < in_; ++i) {
      const int64_t at = first + int64_t{i / group} * kPanel * group + int64_t{o % kPanel} * group;
      row[i] = value(weights[at + i % group]);
    }
  };
  switch (precision_) {
    case Precision::float32:
      return copy(reinterpret_cast<const float*>(weights_.get()), [](float w) { return w; });
    case Precision::float16:
      return copy(reinterpret_cast<const uint16_t*>(weights_.get()), widened);
    case Precision::int16:
      return copy(reinterpret_cast<const int16_t*>(weights_.get()),
                  [&](int16_t w) { return scales_[o] * static_cast<float>(w); });
    case Precision::int8:
      return copy(reinterpret_cast<const int8_t*>(weights_.get()),
                  [&](int8_t w) { return scales_[o] * static_cast<float>(w); });
  }
}

void PackedMatrix::multiply(const Product& product) const {
  Product p = product;
  if (p.x_stride == 0) p.x_stride = in();
  if (p.y_stride == 0) p.y_stride = out();
  if (p.last_panel < 0) p.last_panel = panels();
  multiply_panels(p);
  if (listener_ == nullptr) return;
  const std::span<const std::byte> all = weights();
  const size_t panel = is_packed_
                           ? bytes(kPanel, in_, precision_)
                           : static_cast<size_t>(int64_t{kPanel} * in_) * element_bytes(precision_);
  const size_t begin = p.first_panel * panel;
  listener_(all.subspan(begin, std::min(all.size(), p.last_panel * panel) - begin));
}

void PackedMatrix::multiply_panels(const Product& p) const {
  switch (precision()) {
    case Precision::float32:
      return is_packed_ ? multiply_float32(view(), p) : multiply_rows(view(), p);
    case Precision::float16:
      return multiply_float16(view(), p);
    case Precision::int16:
      return multiply_int16(view(), p);
    case Precision::int8:
      return is_packed_ ? multiply_int8(view(), p) : multiply_int8_rows(view(), p);
  }
}

void PackedMatrix::multiply_some(const float* x, std::span<const int32_t> columns, float* y,
                                 const CopyRow* copy) const {
  require(fits_unpacked(out_, in_), "weights [{}, {}] must be multiplied whole", out_, in_);
  // These buffers grow to the thread's largest call.
  thread_local std::vector<float> rows, biases, some;
  const auto count = static_cast<int64_t>(columns.size());
  const int64_t room = std::max<int64_t>(count, kMostLanes);
  if (static_cast<int64_t>(rows.size()) < room * in_) rows.resize(room * in_);
  if (static_cast<int64_t>(biases.size()) < room) biases.resize(room);
  if (static_cast<int64_t>(some.size()) < room) some.resize(room);
  if (!is_packed_ && copy == nullptr) {  // start to fetch all rows at once
    constexpr int64_t kBegin = int64_t{8} * kMostLanes;
    const auto* const weights = reinterpret_cast<const float*>(weights_.get());
    for (const int32_t o : columns) {
      for (int64_t j = 0; j < std::min<int64_t>(in_, kBegin); j += kMostLanes) {
        __builtin_prefetch(weights + int64_t{o} * in_ + j);
      }
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    float* const row = rows.data() + i * in_;
    copy != nullptr ? (*copy)(columns[i], row) : copy_row(columns[i], row);
    biases[i] = bias_[columns[i]];
  }
  multiply_rows(
      {.out = static_cast<int>(room), .in = in_, .weights = rows.data(), .bias = biases.data()},
      {.x = x,
       .rows = 1,
       .y = some.data(),
       .x_stride = in_,
       .y_stride = room,
       .last_panel = static_cast<int>((room + kPanel - 1) / kPanel)});
  std::copy_n(some.begin(), count, y);
}

void halve(const float* source, int64_t out, int64_t in, uint16_t* halves) {
  for (int64_t o = 0; o < out; ++o, source += in, halves += in) {
    const float most = round_to_half(source, in, halves);
    require(most < 65504, "a weight of {} does not fit float16", most);
  }
}

float widened(uint16_t half) {
  const uint32_t sign = (half & 0x8000U) << 16, exponent = half >> 10 & 0x1FU;
  const uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  constexpr uint32_t kNoNumber = 31;  // infinities and NaN
  const uint32_t wide = exponent == kNoNumber ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

void widen(const uint16_t* halves, int64_t count, float* numbers) {
  std::transform(halves, halves + count, numbers, widened);
}

void quantize(const float* source, int out, int in, int8_t* weight, float* scales) {
  for (int64_t o = 0; o < out; ++o, source += in, weight += in) {
    const float most = round_to_int8(source, in, weight);
    require(std::isfinite(most), "row {} of a weight matrix contains {} and cannot be quantised", o,
            most);
    scales[o] = most / 127;
  }
}

}  // namespace residual::kernels
