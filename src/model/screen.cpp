#include "model/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/directory.h"
#include "model/parameters.h"

namespace residual::model {
namespace {

constexpr size_t kWorthStoring = 1 << 20;  // bytes

// Empty where decoding uses none: not float32, or of a shape that it cannot multiply unpacked.
kernels::PackedMatrix screen_of(const std::vector<int64_t>& shape, Dtype dtype,
                                std::string_view bytes) {
  const auto out = static_cast<int>(shape.at(0)), in = static_cast<int>(shape.at(1));
  const bool is_aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignof(float) == 0;
  if (dtype != Dtype::f32 || !is_aligned || !kernels::PackedMatrix::fits_unpacked(out, in)) {
    return {};
  }
  const auto* const rows = reinterpret_cast<const float*>(bytes.data());
  return {rows, nullptr, out, in, kernels::Precision::int16};
}

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::span<const float> scales_of(const kernels::PackedMatrix& screen) {
  return screen.scales().first(screen.out());
}

}  // namespace

std::vector<TensorBytes> with_screen(std::vector<TensorBytes> tensors, const Config& config,
                                     kernels::PackedMatrix& screen) {
  if (!config.has_decoder()) return tensors;
  const std::string name = output_embedding(config);
  const auto rows = std::ranges::find(tensors, name, &TensorBytes::name);
  const bool has_panels = std::ranges::count(tensors, name + kPanels, &TensorBytes::name) > 0;
  const bool is_small = rows != tensors.end() && rows->bytes.size() / 2 < kWorthStoring;
  if (rows == tensors.end() || has_panels || is_small) return tensors;
  screen = screen_of(rows->shape, rows->dtype, rows->bytes);
  const auto is_finite = [](float scale) { return std::isfinite(scale); };
  if (screen.out() == 0 || !std::ranges::all_of(scales_of(screen), is_finite)) return tensors;
  tensors.push_back({name + kPanels,
                     Dtype::i16,
                     {screen.panels(), screen.in(), kernels::kPanel},
                     bytes_of(screen.packed())});
  tensors.push_back({name + kScale, Dtype::f32, {screen.out()}, bytes_of(scales_of(screen))});
  return tensors;
}

std::string screen_difference(const SafeTensors& weights, const Config& config) {
  if (!config.has_decoder()) return "";
  const std::string name = output_embedding(config), panels = name + kPanels;
  if (!weights.contains(name) || !weights.contains(panels)) return "";
  const TensorView& rows = weights.at(name);
  const auto screen = screen_of(rows.shape, rows.dtype, rows.bytes);
  if (screen.out() == 0) return "";
  const bool is_same = weights.at(panels).bytes == bytes_of(screen.packed()) &&
                       weights.at(name + kScale).bytes == bytes_of(scales_of(screen));
  if (is_same) return "";
  return fmt::format("{} does not match {}, which was changed after the file was written", panels,
                     name);
}

}  // namespace residual::model
