#include "interop/export.h"

#include "base/error.h"
#include "interop/fairseq.h"
#include "interop/fairseq_import.h"
#include "model/export.h"
#include "model/parameters.h"
#include "schemes/registry.h"
#include "schemes/resi_dual.h"

namespace residual::interop {
namespace {

// Under every name that fairseq has for one matrix.
std::vector<std::string> tied_names(const std::string& fairseq, model::Sharing sharing) {
  std::vector<std::string> names = {fairseq};
  const bool source = fairseq == "encoder.embed_tokens.weight";
  if (source && sharing == model::Sharing::all) names.push_back("decoder.embed_tokens.weight");
  if (names.back() == "decoder.embed_tokens.weight" && sharing != model::Sharing::none) {
    names.push_back("decoder.output_projection.weight");
  }
  return names;
}

}  // namespace

void copy_subword_models(const model::Directory& model, const fs::path& to) {
  const model::Description& d = model.description();
  for (const auto& file : model.text_files()) {
    const bool is_text = file != d.source_vocabulary && file != d.target_vocabulary;
    if (is_text) replace_file(to / file, model.read(file));
  }
}

void export_fairseq(const model::Directory& model, const fs::path& output) {
  const model::Description& d = model.description();
  model::ExportedTensors tensors;
  for (const auto& part : fairseq_parts(d.model)) {
    const model::TensorView& tensor = model.parameter(part.name);
    require(tensor.dtype != model::Dtype::i8, "{}: is int8; export the model it was made from",
            model.path().string());
    const std::vector<float> values = tensor.to_float();
    const auto row = static_cast<int64_t>(values.size()) / tensor.shape[0];
    const auto from = values.begin() + part.begin * row;
    std::vector<int64_t> shape = tensor.shape;
    shape[0] = part.rows;
    for (const auto& name : tied_names(part.fairseq, d.model.sharing)) {
      tensors.add(name, model::Dtype::f32, shape, std::vector<float>(from, from + part.rows * row));
    }
  }
  const auto dual = schemes::options_of<schemes::ResiDual>(d.model.residual);  // others: eta is 1
  std::map<std::string, std::string> metadata = {{"format", "pt"},
                                                 {"scheme", d.model.residual.name},
                                                 {"heads", fmt::format("{}", d.model.heads)},
                                                 {"eta", fmt::format("{}", dual.eta)}};
  const bool is_plain = d.directions.size() == 1 && d.directions[0].source_tag.empty();
  if (!is_plain) metadata[kDirections] = format_directions(d.directions);
  AtomicDirectory directory(output, /*replace=*/true, model::kWeightsFile);
  model::write_safetensors(directory.path() / model::kWeightsFile, tensors.list, metadata);
  for (const auto& direction : d.directions) {
    const auto dictionary = [&](const std::string& language) {
      return directory.path() / fmt::format("dict.{}.txt", language);
    };
    model.source_vocabulary().save(dictionary(direction.source));
    model.target_vocabulary().save(dictionary(direction.target));
  }
  copy_subword_models(model, directory.path());
  model::write_checksums(directory.path());
  directory.commit();
}

}  // namespace residual::interop
