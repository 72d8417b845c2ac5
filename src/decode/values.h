#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "kernels/matrix.h"
#include "model/directory.h"

namespace residual::decode {

using kernels::PackedMatrix;
using kernels::Precision;

// One parameter as its owner keeps it, in one of four forms. `file`: whose mapping the numbers lie
// in, if any; its pages may be dropped and read again.
struct Float32 {
  std::span<const float> numbers;
  std::span<const std::byte> screen = {};  // see OutputLayer: a PackedMatrix's, if there is one
  std::span<const float> scales = {};      // of the screen
  const model::SafeTensors* file = nullptr;
};
struct Float16 {
  std::span<const uint16_t> numbers;
  const model::SafeTensors* file = nullptr;
};
struct Int8 {
  std::span<const int8_t> numbers;
  std::span<const float> scales;  // of each row
  const model::SafeTensors* file = nullptr;
};
struct Packed {
  std::span<const std::byte> panels;  // a PackedMatrix's
  Precision precision = Precision::float32;
};
using Values = std::variant<Float32, Float16, Int8, Packed>;

// Gives back the memory of a file's pages that lie wholly in `bytes`; they can be read again.
// Does nothing if `file` is null.
void drop(const model::SafeTensors* file, std::span<const std::byte> bytes);

// Whether single rows of float32 numbers are read from their file instead of its mapping.
bool is_read(const Float32& values);
// Row `id` of float32 numbers in a file.
void read_row(const Float32& values, int64_t id, int64_t width, float* row);

// A model's parameters by name, as its file keeps them. Those that cannot be used where they are,
// are converted and kept. The result may be copied, and keeps the directory.
std::function<Values(const std::string& name)> file_values(
    std::shared_ptr<const model::Directory> directory);

}  // namespace residual::decode
