#include "model/export.h"

#include "base/error.h"
#include "kernels/matrix.h"
#include "model/parameters.h"

namespace residual::model {
namespace {

void copy_tensor(const TensorView& tensor, ExportedTensors& out) {
  out.list.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
}

}  // namespace

void ExportedTensors::add(const std::string& name, Dtype dtype, const std::vector<int64_t>& shape,
                          std::string bytes) {
  list.push_back({name, dtype, shape, made.emplace_back(std::move(bytes))});
}

ExportedTensors stored_tensors(const Directory& model) {
  ExportedTensors out;
  for (const auto& [name, tensor] : model.weights().tensors()) {
    if (!name.starts_with(kBundledFile)) copy_tensor(tensor, out);
  }
  return out;
}

ExportedTensors float16_tensors(const Directory& model) {
  ExportedTensors out;
  for (const auto& p : parameters(model.description().model)) {
    const TensorView& tensor = model.parameter(p.name);
    require(tensor.dtype != Dtype::i8, "{}: is int8; export the model it was made from",
            model.path().string());
    if (p.shape.size() != 2 || tensor.dtype == Dtype::f16) {
      copy_tensor(tensor, out);
      continue;
    }
    const std::vector<float> values = tensor.to_float();
    std::vector<uint16_t> halves(values.size());
    kernels::halve(values.data(), p.shape[0], p.shape[1], halves.data());
    out.add(p.name, Dtype::f16, p.shape, halves);
  }
  return out;
}

ExportedTensors int8_tensors(const Directory& model) {
  ExportedTensors out;
  for (const auto& p : parameters(model.description().model)) {
    const TensorView& tensor = model.parameter(p.name);
    if (p.shape.size() != 2) {
      copy_tensor(tensor, out);
    } else if (tensor.dtype == Dtype::i8) {
      copy_tensor(tensor, out);
      copy_tensor(model.weights().at(p.name + kScale), out);
    } else {
      const std::vector<float> values = tensor.to_float();
      std::vector<int8_t> quantized(values.size());
      std::vector<float> scales(static_cast<size_t>(p.shape[0]));
      kernels::quantize(values.data(), static_cast<int>(p.shape[0]), static_cast<int>(p.shape[1]),
                        quantized.data(), scales.data());
      out.add(p.name, Dtype::i8, p.shape, quantized);
      out.add(p.name + kScale, Dtype::f32, {p.shape[0]}, scales);
    }
  }
  return out;
}

ExportedTensors packed_tensors(const Directory& model) {
  const Config& config = model.description().model;
  ExportedTensors out;
  for (const auto& p : parameters(config)) {
    const TensorView& tensor = model.parameter(p.name);
    require(tensor.dtype != Dtype::i8, "{}: is int8; only float32 and float16 matrices are packed",
            model.path().string());
    if (!is_multiplied(p, config)) {
      copy_tensor(tensor, out);
      continue;
    }
    const bool is_half = tensor.dtype == Dtype::f16;
    const std::vector<float> values = tensor.to_float();
    if (p.name == output_embedding(config) && !is_half) {  // it gets a screen
      out.add(p.name, Dtype::f32, p.shape, values);
      continue;
    }
    const kernels::PackedMatrix packed(
        values.data(), nullptr, static_cast<int>(p.shape[0]), static_cast<int>(p.shape[1]),
        is_half ? kernels::Precision::float16 : kernels::Precision::float32);
    const auto bytes = packed.packed();
    out.add(p.name + kPanels, is_half ? Dtype::f16 : Dtype::f32,
            {packed.panels(), p.shape[1], kernels::kPanel},
            {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return out;
}

}  // namespace residual::model
