#include "interop/fairseq.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "base/error.h"
#include "model/parameters.h"
#include "schemes/resi_dual.h"

namespace residual::interop {
namespace {

using schemes::Role;
using schemes::Side;

const char* name_of(Side side) { return side == Side::encoder ? "encoder" : "decoder"; }

std::string layer(Side side, int index) {
  return fmt::format("{}.layers.{}.", name_of(side), index);
}

// "self_attn." in fairseq for the block that `place` is in its layer.
std::string block(const schemes::Stack& s, int place) {
  if (place == 0) return "self_attn";
  return place == s.blocks_per_layer - 1 ? "final" : "encoder_attn";
}

std::string projection(Role role) {
  switch (role) {
    case Role::query:
      return "q_proj";
    case Role::key:
      return "k_proj";
    case Role::value:
      return "v_proj";
    case Role::output:
      return "out_proj";
    case Role::inner:
      return "fc1";
    default:
      return "fc2";
  }
}

// encoder.layers.3.self_attn.q_proj.weight
std::string of_block(const model::Parameter& p, const schemes::Stack& s, Role role) {
  const bool feed_forward = role == Role::inner || role == Role::outer;
  const std::string within = feed_forward ? "" : block(s, p.block % s.blocks_per_layer) + ".";
  return layer(p.side, p.block / s.blocks_per_layer) + within + projection(role) +
         (p.shape.size() == 2 ? ".weight" : ".bias");
}

// encoder.residual.norm.3.weight -> encoder.layers.1.final_layer_norm.weight
std::string of_norm(const model::Parameter& p, const schemes::Stack& s) {
  const std::string norm = fmt::format("{}.residual.norm.", name_of(p.side));
  const std::string kind = p.name.ends_with(".weight") ? ".weight" : ".bias";
  if (!p.name.starts_with(norm)) return fmt::format("{}.layer_norm{}", name_of(p.side), kind);
  const int k = std::stoi(p.name.substr(norm.size()));
  return layer(p.side, k / s.blocks_per_layer) + block(s, k % s.blocks_per_layer) + "_layer_norm" +
         kind;
}

std::string of_embedding(const model::Parameter& p) {
  if (p.name == model::kOutputEmbedding) return "decoder.output_projection.weight";
  return p.side == Side::encoder ? "encoder.embed_tokens.weight" : "decoder.embed_tokens.weight";
}

int64_t count_layers(const model::SafeTensors& file, const std::string& prefix, Side side) {
  int64_t layers = 0;
  while (file.contains(prefix + layer(side, static_cast<int>(layers)) + "fc1.weight")) ++layers;
  require(layers > 0, "{}: has no {}fc1.weight; are these a fairseq Transformer's tensors?",
          file.name(), prefix + layer(side, 0));
  return layers;
}

bool same(const model::SafeTensors& file, const std::string& a, const std::string& b) {
  return !file.contains(b) || file.at(a).bytes == file.at(b).bytes;
}

// Tensors of every fairseq 0.12 checkpoint that take no part in the model: version numbers, a
// buffer that remembers the device, and copies of weights for PyTorch's fused encoder layer.
bool is_superfluous(const std::string& name) {
  static const std::regex pattern(R"re((en|de)coder\.(version|embed_positions\._float_tensor|)re"
                                  R"re(layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)))re");
  return std::regex_match(name, pattern);
}

// "a, b, c and 4 more"
std::string listing(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  const size_t shown = std::min(names.size(), kShown);
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

void check_names(const model::SafeTensors& file, const std::vector<FairseqPart>& parts,
                 const std::string& prefix) {
  std::set<std::string> known = {"decoder.embed_tokens.weight", "decoder.output_projection.weight"};
  std::vector<std::string> missing, unknown;
  for (const auto& part : parts) {
    known.insert(part.fairseq);
    if (!file.contains(prefix + part.fairseq)) missing.push_back(prefix + part.fairseq);
  }
  for (const auto& [name, tensor] : file.tensors()) {
    if (!name.starts_with(prefix)) continue;
    const std::string bare = name.substr(prefix.size());
    if (!known.contains(bare) && !is_superfluous(bare)) unknown.push_back(name);
  }
  require(missing.empty(),
          "{}: lacks {}; checkpoints older than fairseq 0.9 have other names: "
          "load them with a newer fairseq and save its state_dict()",
          file.name(), listing(missing));
  require(unknown.empty(),
          "{}: has {}, which a Transformer with sinusoidal positions and this "
          "scheme does not have",
          file.name(), listing(unknown));
}

std::string metadata(const model::SafeTensors& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
}

// The number that the metadata gives for `key`, or `otherwise`.
double number(const model::SafeTensors& file, const std::string& key, double otherwise) {
  const std::string text = metadata(file, key);
  if (text.empty()) return otherwise;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size() && std::isfinite(value),
          "{}: metadata \"{}\" is \"{}\", expected a number", file.name(), key, text);
  return value;
}

int64_t count_heads(const model::SafeTensors& file, int64_t width) {
  require(!metadata(file, "heads").empty(),
          "{}: does not say how many attention heads there are; give --heads", file.name());
  const double heads = number(file, "heads", 0);
  require(heads >= 1 && heads <= static_cast<double>(width) && heads == std::floor(heads),
          "{}: metadata \"heads\" is \"{}\", expected a whole number from 1 to {}; give --heads",
          file.name(), metadata(file, "heads"), width);
  return static_cast<int64_t>(heads);
}

const std::vector<int64_t>& matrix_shape(const model::SafeTensors& file, const std::string& name) {
  const auto& shape = file.at(name).shape;
  require(shape.size() == 2, "{}: {} has {} dimensions, expected 2", file.name(), name,
          shape.size());
  return shape;
}

}  // namespace

std::vector<FairseqPart> fairseq_parts(const model::Config& config) {
  const std::string& scheme = config.residual.name;
  require(scheme == "post-ln" || scheme == "pre-ln" || scheme == "resi-dual",
          "{}: fairseq has names for post-ln, pre-ln and resi-dual models only", scheme);
  require(config.kind == model::Kind::translation, "only translation models have fairseq names");
  model::require_trainable(config, "exported to fairseq");
  model::require_classic_blocks(config, "fairseq's checkpoints");
  std::vector<FairseqPart> parts;
  for (const auto& p : model::parameters(config)) {
    const schemes::Stack s = model::stack(config, p.side);
    if (p.parts.empty()) {
      parts.push_back({p.name, of_norm(p, s), 0, p.shape[0]});
    } else if (p.block < 0) {
      parts.push_back({p.name, of_embedding(p), 0, p.shape[0]});
    } else {
      int64_t begin = 0;
      for (const auto& part : p.parts) {
        parts.push_back({p.name, of_block(p, s, part.role), begin, part.rows});
        begin += part.rows;
      }
    }
  }
  return parts;
}

std::string fairseq_prefix(const model::SafeTensors& file) {
  for (const char* prefix : {"", "model.", "module.", "param."}) {
    if (file.contains(prefix + layer(Side::encoder, 0) + "fc1.weight")) return prefix;
  }
  fail(
      "{}: has no tensor {}fc1.weight, with or without \"model.\", \"module.\" or \"param.\" "
      "before it; are these a fairseq Transformer's? Other prefixes can be given with --prefix",
      file.name(), layer(Side::encoder, 0));
}

bool has_fairseq_names(const model::SafeTensors& file) {
  try {
    fairseq_prefix(file);
    return true;
  } catch (const Error&) {
    return false;
  }
}

model::Config fairseq_config(const model::SafeTensors& file, const FairseqOptions& options) {
  const std::string& prefix = options.prefix;
  model::Config c;
  c.encoder_layers = count_layers(file, prefix, Side::encoder);
  c.decoder_layers = count_layers(file, prefix, Side::decoder);
  c.inner = matrix_shape(file, prefix + layer(Side::encoder, 0) + "fc1.weight")[0];
  c.max_positions = options.max_positions;

  const std::string source = prefix + "encoder.embed_tokens.weight";
  const std::string target = prefix + "decoder.embed_tokens.weight";
  const std::string output = prefix + "decoder.output_projection.weight";
  c.source_vocabulary = matrix_shape(file, source)[0];
  c.width = matrix_shape(file, source)[1];
  c.target_vocabulary = file.contains(target) ? matrix_shape(file, target)[0] : c.source_vocabulary;
  const std::string& decoder_input = file.contains(target) ? target : source;
  if (!same(file, decoder_input, output)) {
    c.sharing = model::Sharing::none;
  } else {
    c.sharing = same(file, source, target) ? model::Sharing::all : model::Sharing::target;
  }

  c.heads = options.heads > 0 ? options.heads : count_heads(file, c.width);
  c.residual.name = options.scheme.empty() ? metadata(file, "scheme") : options.scheme;
  if (c.residual.name.empty()) {
    require(!file.contains(prefix + "encoder.layer_norm.weight"),
            "{}: has final norms, so it is pre-ln or resi-dual; give --scheme", file.name());
    c.residual.name = "post-ln";
  }
  require(options.eta == 0 || c.residual.name == "resi-dual",
          "--eta: applies to resi-dual only; {} is a {} model", file.name(), c.residual.name);
  if (c.residual.name == "resi-dual") {
    const double eta = options.eta != 0 ? options.eta : number(file, "eta", 1);
    c.residual.options = schemes::ResiDual::Options{.eta = eta};
  }
  check(c);
  return c;
}

std::vector<std::vector<float>> fairseq_values(const model::SafeTensors& file,
                                               const model::Config& config,
                                               const std::string& prefix) {
  const auto parts = fairseq_parts(config);
  check_names(file, parts, prefix);
  std::map<std::string, std::vector<FairseqPart>> by_name;
  for (const auto& part : parts) by_name[part.name].push_back(part);
  std::vector<std::vector<float>> all;
  for (const auto& p : model::parameters(config)) {
    auto& values = all.emplace_back();
    for (const auto& part : by_name.at(p.name)) {
      const auto& found = file.at(prefix + part.fairseq);
      std::vector<int64_t> shape = p.shape;
      shape[0] = part.rows;
      require(found.shape == shape, "{}: {} has shape [{}], expected [{}]", file.name(), found.name,
              fmt::join(found.shape, ", "), fmt::join(shape, ", "));
      const std::vector<float> piece = found.to_float();
      values.insert(values.end(), piece.begin(), piece.end());
    }
  }
  return all;
}

}  // namespace residual::interop
