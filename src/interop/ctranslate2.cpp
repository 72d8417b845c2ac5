// CTranslate2's model format, binary version 6, TransformerSpec revision 7: little-endian numbers,
// and strings as a 16-bit length, which counts the final NUL, and the characters.
//
//   u32 version, string spec, u32 revision
//   u32 variables, each: string name, u8 rank, u32 extents..., u8 type, u32 bytes, the values
//   u32 aliases, each: string alias, string name

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "interop/export.h"
#include "model/parameters.h"
#include "model/positions.h"

namespace residual::interop {
namespace {

using schemes::Side;

constexpr uint32_t kBinaryVersion = 6;
constexpr uint32_t kRevision = 7;
enum class Type : uint8_t { float32 = 0, int8 = 1, int16 = 2 };

struct Variable {
  std::string name;
  std::vector<uint32_t> shape;
  Type type;
  std::string bytes;
};

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

const char* name_of(Side side) { return side == Side::encoder ? "encoder" : "decoder"; }

// "encoder/layer_3/self_attention" for a block.
std::string scope(const model::Config& config, Side side, int block) {
  const int per_layer = model::stack(config, side).blocks_per_layer;
  const int place = block % per_layer;
  const char* kind = place == 0 ? "self_attention" : "attention";
  if (place == per_layer - 1) kind = "ffn";
  return fmt::format("{}/layer_{}/{}", name_of(side), block / per_layer, kind);
}

// Returns the name of a matrix or bias among its block's linear layers, which are numbered in the
// order of application, the order of our parameters.
std::string linear(const std::string& parameter) {
  static const std::pair<const char*, const char*> kPlaces[] = {
      {".qkv.", "linear_0"},       {".query.", "linear_0"}, {".inner.", "linear_0"},
      {".key_value.", "linear_1"}, {".outer.", "linear_1"},
  };
  for (const auto& [ours, theirs] : kPlaces) {
    if (parameter.find(ours) != std::string::npos) return theirs;
  }
  return parameter.find("cross_attention.output") != std::string::npos ? "linear_2" : "linear_1";
}

class Variables {
 public:
  explicit Variables(const model::Directory& model)
      : model_(model), config_(model.description().model) {}

  void add_all() {
    for (const auto& p : model::parameters(config_)) add_parameter(p);
    for (const Side side : {Side::encoder, Side::decoder}) add_settings(side);
    add_positions();
    const std::string source = "encoder/embeddings_0/weight", target = "decoder/embeddings/weight";
    if (config_.sharing == model::Sharing::all) aliases_.emplace_back(target, source);
    if (config_.sharing != model::Sharing::none) {
      aliases_.emplace_back("decoder/projection/weight",
                            config_.sharing == model::Sharing::all ? source : target);
    }
  }

  void write(const fs::path& path) const {
    AtomicFile file(path);
    const auto number = [&](auto value) { file.write(bytes_of(value)); };
    const auto text = [&](const std::string& value) {
      number(static_cast<uint16_t>(value.size() + 1));
      file.write({value.c_str(), value.size() + 1});
    };
    number(kBinaryVersion);
    text("TransformerSpec");
    number(kRevision);
    number(static_cast<uint32_t>(variables_.size()));
    for (const auto& v : variables_) {
      text(v.name);
      number(static_cast<uint8_t>(v.shape.size()));
      for (const uint32_t extent : v.shape) number(extent);
      number(v.type);
      number(static_cast<uint32_t>(v.bytes.size()));
      file.write(v.bytes);
    }
    number(static_cast<uint32_t>(aliases_.size()));
    for (const auto& [alias, name] : aliases_) {
      text(alias);
      text(name);
    }
    file.commit();
  }

 private:
  void add_parameter(const model::Parameter& p) {
    const model::TensorView& tensor = model_.parameter(p.name);
    require(tensor.dtype != model::Dtype::i8,
            "{}: is int8; export the model it was made from and let CTranslate2 quantise it",
            model_.path().string());
    const std::vector<float> values = tensor.to_float();
    add_floats(name_in_spec(p), p.shape, values);
  }
  void add_floats(const std::string& name, const std::vector<int64_t>& shape,
                  const std::vector<float>& values) {
    variables_.push_back({name,
                          {shape.begin(), shape.end()},
                          Type::float32,
                          {reinterpret_cast<const char*>(values.data()), 4 * values.size()}});
  }

  std::string name_in_spec(const model::Parameter& p) const {
    if (p.name == model::kOutputEmbedding) return "decoder/projection/weight";
    if (p.block < 0 && !p.parts.empty()) {
      return p.side == Side::encoder ? "encoder/embeddings_0/weight" : "decoder/embeddings/weight";
    }
    const bool is_weight = p.name.ends_with(".weight");
    if (p.block >= 0) {
      return fmt::format("{}/{}/{}", scope(config_, p.side, p.block), linear(p.name),
                         is_weight ? "weight" : "bias");
    }
    const char* kind = is_weight ? "gamma" : "beta";
    const std::string norm = fmt::format("{}.residual.norm.", name_of(p.side));
    if (!p.name.starts_with(norm)) return fmt::format("{}/layer_norm/{}", name_of(p.side), kind);
    const int block = std::stoi(p.name.substr(norm.size()));
    return fmt::format("{}/layer_norm/{}", scope(config_, p.side, block), kind);
  }

  void add_settings(Side side) {
    const std::string of = std::string(name_of(side)) + "/";
    const auto flag = [&](const char* name, int8_t value) {
      variables_.push_back({of + name, {}, Type::int8, bytes_of(value)});
    };
    const auto number = [&](const char* name, int64_t value) {
      variables_.push_back({of + name, {}, Type::int16, bytes_of(static_cast<int16_t>(value))});
    };
    flag("pre_norm", config_.residual.name == "pre-ln" ? 1 : 0);
    flag("activation", 0);  // ReLU
    number("num_heads", config_.heads);
    const auto scale = std::sqrt(static_cast<float>(config_.width));
    variables_.push_back({of + "scale_embeddings", {}, Type::float32, bytes_of(scale)});
    if (side == Side::encoder) {
      flag("embeddings_merge", 0);
    } else {
      flag("start_from_zero_embedding", 0);
      number("alignment_layer", -1);
      number("alignment_heads", 1);
    }
  }

  void add_positions() {
    const auto width = static_cast<size_t>(config_.width);
    std::vector<float> table(static_cast<size_t>(config_.max_positions) * width);
    for (int64_t i = 0; i < config_.max_positions; ++i) {
      model::sinusoid(i, std::span(table).subspan(static_cast<size_t>(i) * width, width));
    }
    const std::string encodings = "/position_encodings/encodings";
    add_floats("encoder" + encodings, {config_.max_positions, config_.width}, table);
    aliases_.emplace_back("decoder" + encodings, "encoder" + encodings);
  }

  const model::Directory& model_;
  const model::Config& config_;
  std::vector<Variable> variables_;
  std::vector<std::pair<std::string, std::string>> aliases_;
};

void write_vocabulary(const text::Vocabulary& vocabulary, const fs::path& path) {
  nlohmann::json symbols = nlohmann::json::array();
  for (int32_t i = 0; i < vocabulary.size(); ++i) symbols.emplace_back(vocabulary.symbol(i));
  replace_file(path, symbols.dump(1) + "\n");
}

}  // namespace

void export_ctranslate2(const model::Directory& model, const fs::path& output) {
  const model::Config& config = model.description().model;
  const std::string& scheme = config.residual.name;
  require(config.kind == model::Kind::translation && (scheme == "post-ln" || scheme == "pre-ln"),
          "{}: is a {} model; CTranslate2 runs post-ln and pre-ln translation models only",
          model.path().string(), scheme);
  model::require_trainable(config, "exported to CTranslate2");
  model::require_classic_blocks(config, "CTranslate2's models");
  Variables variables(model);
  variables.add_all();

  AtomicDirectory directory(output, /*replace=*/true, "model.bin");
  variables.write(directory.path() / "model.bin");
  const nlohmann::ordered_json settings = {
      {"add_source_bos", false},       {"add_source_eos", true}, {"bos_token", "<s>"},
      {"decoder_start_token", "</s>"}, {"eos_token", "</s>"},    {"layer_norm_epsilon", 1e-5},
      {"unk_token", "<unk>"}};
  replace_file(directory.path() / "config.json", settings.dump(2) + "\n");
  const auto source = model.source_vocabulary(), target = model.target_vocabulary();
  if (source.format() == target.format()) {
    write_vocabulary(source, directory.path() / "shared_vocabulary.json");
  } else {
    write_vocabulary(source, directory.path() / "source_vocabulary.json");
    write_vocabulary(target, directory.path() / "target_vocabulary.json");
  }
  copy_subword_models(model, directory.path());
  model::write_checksums(directory.path());
  directory.commit();
}

}  // namespace residual::interop
