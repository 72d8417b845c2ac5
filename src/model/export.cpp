#include "model/export.h"

#include "base/error.h"
#include "kernels/matrix.h"
#include "model/fairseq.h"
#include "model/fairseq_import.h"
#include "model/parameters.h"

namespace residual::model {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), sizeof(T) * values.size()};
}

void copy_tensor(const TensorView& tensor, ExportedTensors& out) {
  out.list.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
}

// Under every name that fairseq has for one matrix.
std::vector<std::string> tied_names(const std::string& fairseq, Sharing sharing) {
  std::vector<std::string> names = {fairseq};
  const bool source = fairseq == "encoder.embed_tokens.weight";
  if (source && sharing == Sharing::all) names.push_back("decoder.embed_tokens.weight");
  if (names.back() == "decoder.embed_tokens.weight" && sharing != Sharing::none) {
    names.push_back("decoder.output_projection.weight");
  }
  return names;
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
    out.add(p.name, Dtype::f16, p.shape, bytes_of(halves));
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
      out.add(p.name, Dtype::i8, p.shape, bytes_of(quantized));
      out.add(p.name + kScale, Dtype::f32, {p.shape[0]}, bytes_of(scales));
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
      out.add(p.name, Dtype::f32, p.shape, bytes_of(values));
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

void copy_subword_models(const Directory& model, const fs::path& to) {
  const Description& d = model.description();
  for (const auto& file : model.text_files()) {
    const bool is_text = file != d.source_vocabulary && file != d.target_vocabulary;
    if (is_text) replace_file(to / file, model.read(file));
  }
}

void export_fairseq(const Directory& model, const fs::path& output) {
  const Description& d = model.description();
  ExportedTensors tensors;
  for (const auto& part : fairseq_parts(d.model)) {
    const TensorView& tensor = model.parameter(part.name);
    require(tensor.dtype != Dtype::i8, "{}: is int8; export the model it was made from",
            model.path().string());
    const std::vector<float> values = tensor.to_float();
    const auto row = static_cast<int64_t>(values.size()) / tensor.shape[0];
    const auto from = values.begin() + part.begin * row;
    std::vector<int64_t> shape = tensor.shape;
    shape[0] = part.rows;
    for (const auto& name : tied_names(part.fairseq, d.model.sharing)) {
      tensors.add(name, Dtype::f32, shape,
                  bytes_of(std::vector<float>(from, from + part.rows * row)));
    }
  }
  std::map<std::string, std::string> metadata = {{"format", "pt"},
                                                 {"scheme", d.model.residual.name},
                                                 {"heads", fmt::format("{}", d.model.heads)},
                                                 {"eta", fmt::format("{}", d.model.residual.eta)}};
  const bool is_plain = d.directions.size() == 1 && d.directions[0].source_tag.empty();
  if (!is_plain) metadata[kDirections] = format_directions(d.directions);
  AtomicDirectory directory(output, /*replace=*/true, kWeightsFile);
  write_safetensors(directory.path() / kWeightsFile, tensors.list, metadata);
  for (const auto& direction : d.directions) {
    const auto dictionary = [&](const std::string& language) {
      return directory.path() / fmt::format("dict.{}.txt", language);
    };
    model.source_vocabulary().save(dictionary(direction.source));
    model.target_vocabulary().save(dictionary(direction.target));
  }
  copy_subword_models(model, directory.path());
  directory.commit();
}

}  // namespace residual::model
