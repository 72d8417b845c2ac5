#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernels/matrix.h"
#include "model/directory.h"

namespace residual::decode {

using kernels::PackedMatrix;
using kernels::Precision;

// One parameter as its owner keeps it: float32, perhaps packed or with a screen, float16, or int8
// with a scale per row.
struct Values {
  std::span<const float> numbers;
  std::span<const std::byte> panels;  // a PackedMatrix's
  Precision panel_precision = Precision::float32;
  std::span<const uint16_t> halves;
  std::span<const int8_t> quantized;
  std::span<const std::byte> screen;  // see OutputLayer: a PackedMatrix's, beside `numbers`
  std::span<const float> scales;      // of `quantized` or `screen`
  // Whose mapping all of them lie in, if any: its pages may be dropped and read again.
  const model::SafeTensors* file = nullptr;

  bool is_quantized() const { return !quantized.empty(); }
};

// Gives back the memory of a file's pages that lie wholly in `bytes`; they can be read again.
void drop(const Values& values, std::span<const std::byte> bytes);

// Whether single rows of float32 numbers are read from their file instead of its mapping.
bool is_read(const Values& values);
// Row `id` of float32 numbers in a file.
void read_row(const Values& values, int64_t id, int64_t width, float* row);

// A model's parameters by name, as its file keeps them. Those that cannot be used where they are,
// are converted and kept. The result may be copied, and keeps the directory.
std::function<Values(const std::string& name)> file_values(
    std::shared_ptr<const model::Directory> directory);

}  // namespace residual::decode
