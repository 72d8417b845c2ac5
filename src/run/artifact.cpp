#include "run/artifact.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "data/corpus.h"
#include "data/prepared.h"
#include "interop/fairseq.h"
#include "model/directory.h"
#include "model/parameters.h"
#include "run/checkpoint.h"
#include "run/run_directory.h"
#include "schemes/registry.h"

namespace residual::run {
namespace {

using nlohmann::ordered_json;

uint64_t bytes_in(const fs::path& path) {
  if (!fs::is_directory(path)) return fs::file_size(path);
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

ordered_json describe_scheme(const schemes::Choice& given) {
  const schemes::Choice choice = schemes::resolve(given);
  ordered_json out = {{"name", choice.name}};
  if (!choice.variant.empty()) out["variant"] = choice.variant;
  for (const auto& [key, value] : schemes::option_values(choice)) {
    out[key] = ordered_json::parse(value);
  }
  return out;
}

ordered_json describe_parameters(const model::Config& config) {
  ordered_json out = {{"all", model::parameter_count(config)}, {"embeddings", 0}};
  for (const auto& p : model::parameters(config)) {
    std::string part = p.side == schemes::Side::encoder ? "encoder_blocks" : "decoder_blocks";
    if (p.block < 0) part = "embeddings";
    if (p.name.find(".residual.") != std::string::npos) part = "residual_scheme";
    out[part] = out.value(part, int64_t{0}) + p.size();
  }
  return out;
}

ordered_json describe_architecture(const model::Config& c) {
  static const char* const kinds[] = {"translation", "language", "masked"};
  static const char* const sharings[] = {"source, target and output", "target and output", "none"};
  ordered_json out = {{"kind", kinds[static_cast<int>(c.kind)]},
                      {"scheme", describe_scheme(c.residual)}};
  if (c.has_encoder()) out["encoder_layers"] = c.encoder_layers;
  if (c.has_decoder()) out["decoder_layers"] = c.decoder_layers;
  out["width"] = c.width;
  out["inner_width"] = c.inner;
  out["heads"] = c.heads;
  out["positions"] = c.max_positions;
  out["shared_embeddings"] = sharings[static_cast<int>(c.sharing)];
  if (c.form != model::Form::fairseq) out["form"] = residual::name_of(c.form);
  if (c.activation != model::Activation::relu) out["activation"] = residual::name_of(c.activation);
  if (c.gated) out["gated"] = true;
  if (c.kv_heads() != c.heads) out["kv_heads"] = c.kv_heads();
  if (c.positions != model::Positions::sinusoidal)
    out["kind_of_positions"] = residual::name_of(c.positions);
  if (c.norm != model::Norm::layer) out["norm"] = residual::name_of(c.norm);
  if (!c.biases) out["biases"] = false;
  if (c.has_encoder()) out["source_symbols"] = c.source_vocabulary;
  if (c.has_decoder()) out["target_symbols"] = c.target_vocabulary;
  out["parameters"] = describe_parameters(c);
  return out;
}

ordered_json describe_model(const fs::path& path) {
  const auto directory = model::Directory::open(path, model::Check::never);
  const auto& d = directory.description();
  ordered_json out = describe_architecture(d.model);
  ordered_json directions = ordered_json::array();
  for (const auto& each : d.directions) {
    directions.push_back(each.source + "-" + each.target +
                         (each.source_tag.empty() ? "" : " with " + each.source_tag));
  }
  std::set<std::string> types;
  for (const auto& p : model::parameters(d.model)) {
    const auto& weights = directory.weights();
    const bool has_rows = weights.contains(p.name);
    types.insert(model::name_of(weights.at(has_rows ? p.name : p.name + model::kPanels).dtype));
  }
  out["directions"] = directions;
  out["precision"] = types;
  out["update"] = d.update;
  out["origin"] = d.origin;
  out["written_by"] = fmt::format("ResiDual {} ({})", d.residual, d.commit);
  return out;
}

std::string metadata(const model::SafeTensors& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
}

bool has_format(const model::SafeTensors& file, const std::string& format) {
  return metadata(file, "format").starts_with(format);
}

// A file written by `residual export --to fairseq` holds only tensors, under fairseq's names.
bool is_for_fairseq(const fs::path& directory) {
  const fs::path weights = directory / model::kWeightsFile;
  if (!fs::exists(weights) || fs::exists(directory / model::kConfigFile)) return false;
  try {
    return interop::has_fairseq_names(model::SafeTensors::open(weights));
  } catch (const Error&) {  // not a safetensors file
    return false;
  }
}

// The state comes from the header; the tensors' checksum is not verified.
ordered_json describe_state(const fs::path& checkpoint) {
  const auto file = model::SafeTensors::open(checkpoint);
  State state;
  read_toml(metadata(file, "state"), file.name(),
            [&](ConfigVisitor& visit) { fields(visit, state); });
  ordered_json out = {{"update", state.update}, {"epoch", state.position.epoch}};
  if (!state.best.empty()) {
    out["best_validation"] = {{"update", state.best[0].update}, {"value", state.best[0].value}};
  }
  if (state.skipped > 0) out["skipped_updates"] = state.skipped;
  return out;
}

ordered_json describe_run(const fs::path& path) {
  TrainConfig config;
  read_config(path / kRunConfig, config);
  ordered_json out = describe_architecture(config.model);
  if (!config.description.empty()) out["description"] = config.description;
  out["corpus"] = config.data.prepared;
  const auto checkpoints = CheckpointStore(path / kCheckpoints, config.model).list();
  ordered_json updates = ordered_json::array();
  for (const auto& [update, file] : checkpoints) updates.push_back(update);
  out["checkpoints"] = updates;
  if (!checkpoints.empty()) {
    out["state"] = describe_state(checkpoints.rbegin()->second);
  }
  ordered_json models = ordered_json::array();
  for (const char* name : {"best", "last"}) {
    if (fs::exists(path / name / model::kWeightsFile)) models.push_back(name);
  }
  out["models"] = models;
  return out;
}

ordered_json describe_checkpoint(const fs::path& path) {
  ordered_json out = describe_state(path);
  int64_t parameters = 0;
  for (const auto& t : model_tensors(model::SafeTensors::open(path))) {
    parameters += static_cast<int64_t>(t.bytes.size()) / size_of(t.dtype);
  }
  out["parameters"] = parameters;
  return out;
}

ordered_json describe_prepared(const fs::path& path) {
  const data::Manifest manifest = data::load_manifest(path);
  ordered_json out = {{"pairs", manifest.recipe.pairs}};
  if (!manifest.recipe.description.empty()) out["description"] = manifest.recipe.description;
  for (const auto& v : manifest.vocabularies) {
    out["vocabularies"][v.file] = {{"languages", v.languages}, {"symbols", v.symbols}};
  }
  for (const auto& c : manifest.corpora) {
    out["corpora"][c.file] = {{"split", c.split},
                              {"direction", c.source + "-" + c.target},
                              {"pairs", c.pairs},
                              {"source_tokens", c.source_tokens},
                              {"target_tokens", c.target_tokens}};
  }
  out["written_by"] = fmt::format("ResiDual {} ({})", manifest.residual, manifest.commit);
  return out;
}

ordered_json describe_corpus(const fs::path& path) {
  const auto corpus = data::Corpus::open(path);
  return {{"direction", corpus.source_language() + "-" + corpus.target_language()},
          {"pairs", corpus.size()},
          {"source_tokens", corpus.footer().source_tokens},
          {"target_tokens", corpus.footer().target_tokens}};
}

ordered_json describe_tensors(const fs::path& path) {
  const auto file = model::SafeTensors::open(path);
  ordered_json out = {{"metadata", file.metadata()}};
  for (const auto& [name, tensor] : file.tensors()) {
    out["tensors"][name] =
        fmt::format("{} [{}]", model::name_of(tensor.dtype), fmt::join(tensor.shape, ", "));
  }
  return out;
}

ordered_json describe_as(Artifact artifact, const fs::path& path) {
  switch (artifact) {
    case Artifact::model:
    case Artifact::bundle:
      return describe_model(path);
    case Artifact::run:
      return describe_run(path);
    case Artifact::prepared:
      return describe_prepared(path);
    case Artifact::checkpoint:
      return describe_checkpoint(path);
    case Artifact::corpus:
      return describe_corpus(path);
    case Artifact::tensors:
      return describe_tensors(path);
    case Artifact::fairseq:
      return describe_tensors(path / model::kWeightsFile);
    case Artifact::listed:
      break;
  }
  return {};
}

}  // namespace

const char* name_of(Artifact artifact) {
  static const char* const names[] = {"model directory",
                                      "model bundle",
                                      "run directory",
                                      "prepared corpus",
                                      "checkpoint",
                                      "corpus",
                                      "safetensors file",
                                      "model exported to fairseq",
                                      "directory with checksums"};
  return names[static_cast<int>(artifact)];
}

Artifact artifact_at(const fs::path& path) {
  require(fs::exists(path), "{}: no such file or directory", path.string());
  if (fs::is_directory(path)) {
    if (is_for_fairseq(path)) return Artifact::fairseq;
    if (fs::exists(path / model::kWeightsFile)) return Artifact::model;
    if (fs::exists(path / "prepared.toml")) return Artifact::prepared;
    if (fs::exists(path / kCheckpoints)) return Artifact::run;
    if (fs::exists(path / model::kChecksumsFile)) return Artifact::listed;
    fail(
        "{}: not a model (no {}), not a run (no {}/) and not a prepared corpus (no "
        "prepared.toml)",
        path.string(), model::kWeightsFile, kCheckpoints);
  }
  if (path.extension() == ".corpus") return Artifact::corpus;
  // One damaged name in the header does not hide what the file is.
  const auto kind = [](const model::SafeTensors& file) {
    if (has_format(file, "residual checkpoint") || file.metadata().contains("state")) {
      return Artifact::checkpoint;
    }
    const bool is_bundle = has_format(file, "residual bundle") ||
                           file.metadata().contains(model::kFileChecksum) ||
                           file.contains(std::string(model::kBundledFile) + model::kConfigFile);
    return is_bundle ? Artifact::bundle : Artifact::tensors;
  };
  if (path.extension() == ".safetensors" || path.extension() == ".residual") {
    return kind(model::SafeTensors::open(path));
  }
  try {
    return kind(model::SafeTensors::open(path));
  } catch (const Error&) {
    fail("{}: expected a directory, a *.safetensors, *.residual or *.corpus file, or a bundle",
         path.string());
  }
}

ordered_json describe(const fs::path& path) {
  const Artifact artifact = artifact_at(path);
  ordered_json out = {{"path", path.string()}, {"type", name_of(artifact)}};
  out.update(describe_as(artifact, path));
  out["bytes_on_disk"] = bytes_in(path);
  return out;
}

}  // namespace residual::run
