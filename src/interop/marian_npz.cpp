#include <algorithm>
#include <cstdio>
#include <set>

#include "base/error.h"
#include "interop/flat_yaml.h"
#include "interop/marian_model.h"
#include "interop/npz.h"
#include "model/parameters.h"

namespace residual::interop {
namespace {

using schemes::Side;
using text::Vocabulary;

constexpr const char* kOptions = "special:model.yml";

// What a model says of itself.
class Options {
 public:
  explicit Options(const Npz& file) : name_(fmt::format("{}: {}", file.name(), kOptions)) {
    require(file.contains(kOptions),
            "{}: has no {}, which describes the architecture; did Marian write this model?",
            file.name(), kOptions);
    std::string_view text = file.at(kOptions).bytes;
    values_ = parse_flat_yaml(text.substr(0, text.find('\0')), name_);
  }

  // "" if there is no such option.
  std::string text(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() || found->second.empty() ? "" : found->second[0];
  }
  int64_t number(const std::string& key) const {
    const std::string value = text(key);
    const auto number = whole_number(value);
    require(number.has_value(), "{}: {}: expected a number, got \"{}\"", name_, key, value);
    return *number;
  }
  bool is_on(const std::string& key) const { return text(key) == "true"; }

  // The option must have one of these values, or be absent if one is "".
  void expect(const std::string& key, const std::vector<std::string>& values) const {
    const std::string value = text(key);
    require(std::ranges::find(values, value) != values.end(),
            "{}: {} is \"{}\"; this version imports models with \"{}\"", name_, key, value,
            fmt::join(values, "\" or \""));
  }
  // "version" is "v1.12.42 b7be0e964 ...".
  void expect_normalised_keys() const {
    int major = 0, minor = 0;
    const std::string version = text("version");
    const bool is_known = std::sscanf(version.c_str(), "v%d.%d", &major, &minor) == 2;
    require(is_known && std::pair(major, minor) >= std::pair(1, 11),
            "{}: version is \"{}\"; Marian before 1.11 did not normalise keys and values of "
            "pre-norm models, and this version cannot run those",
            name_, version);
  }

 private:
  std::string name_;
  std::map<std::string, std::vector<std::string>> values_;
};

// Everything that changes what is computed, and that the engine computes in one way only.
void check(const Options& o) {
  o.expect("type", {"transformer"});
  for (const char* key : {"right-left", "ulr", "transformer-no-projection", "transformer-no-bias",
                          "transformer-no-affine", "transformer-pool",
                          "transformer-train-positions", "transformer-disable-position-embeddings",
                          "transformer-alibi-shift", "transformer-alibi-trainable"}) {
    o.expect(key, {"", "false"});
  }
  for (const char* key : {"lemma-dim-emb", "factors-dim-emb", "transformer-decoder-dim-ffn",
                          "transformer-decoder-ffn-depth"}) {
    o.expect(key, {"", "0"});
  }
  o.expect("transformer-tied-layers", {""});
  o.expect("transformer-decoder-autoreg", {"", "self-attention"});
  o.expect("transformer-attention-mask", {"", "default"});
  o.expect("transformer-ffn-depth", {"", "2"});
  o.expect("transformer-ffn-activation", {"relu", "swish"});
  o.expect("transformer-postprocess-emb", {"", "d"});
  if (o.text("transformer-preprocess").empty()) {
    o.expect("transformer-postprocess", {"dan", "an"});
    o.expect("transformer-postprocess-top", {""});
  } else {
    o.expect("transformer-preprocess", {"n"});
    o.expect("transformer-postprocess", {"da", "a"});
    o.expect("transformer-postprocess-top", {"n"});
    o.expect_normalised_keys();
  }
}

model::Config config_of(const Options& o, int64_t max_positions) {
  check(o);
  model::Config c;
  c.encoder_layers = o.number("enc-depth");
  c.decoder_layers = o.number("dec-depth");
  c.width = o.number("dim-emb");
  c.inner = o.number("transformer-dim-ffn");
  c.heads = o.number("transformer-heads");
  c.max_positions = max_positions;
  c.form = model::Form::marian;
  c.activation = o.text("transformer-ffn-activation") == "swish" ? model::Activation::swish
                                                                 : model::Activation::relu;
  c.residual.name = o.text("transformer-preprocess").empty() ? "post-ln" : "pre-ln";
  // Embeddings that only tied-embeddings-src shares become separate matrices.
  c.sharing = model::Sharing::none;
  if (o.is_on("tied-embeddings")) c.sharing = model::Sharing::target;
  if (o.is_on("tied-embeddings-all")) c.sharing = model::Sharing::all;
  return c;
}

// Arrays of the file under our names and in our layout; each is to be used.
class Arrays {
 public:
  explicit Arrays(const Npz& file) : file_(file) { used_.insert(kOptions); }

  // Returns an array of shape [rows, columns]; further extents of 1 are ignored.
  std::vector<float> array(const std::string& name, int64_t rows, int64_t columns) {
    const NpzArray& found = file_.at(name);
    require(found.dtype == "<f4",
            "{}: {} has elements of type {}, expected float32; convert the model with "
            "marian-conv --gemm-type float32",
            file_.name(), name, found.dtype);
    std::vector<int64_t> shape = found.shape;
    std::erase(shape, 1);
    std::vector<int64_t> expected = {rows, columns};
    std::erase(expected, 1);
    require(shape == expected, "{}: {} has shape [{}], expected [{}, {}]", file_.name(), name,
            fmt::join(found.shape, ", "), rows, columns);
    used_.insert(name);
    return found.to_float();
  }
  std::vector<float> vector(const std::string& name, int64_t size) { return array(name, 1, size); }

  // Marian multiplies x W, we multiply x W^T.
  std::vector<float> transposed(const std::string& name, int64_t out, int64_t in) {
    const std::vector<float> from = array(name, in, out);
    std::vector<float> to(from.size());
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t o = 0; o < out; ++o) to[o * in + i] = from[i * out + o];
    }
    return to;
  }
  bool contains(const std::string& name) const { return file_.contains(name); }

  // An Error if the file has more, which would mean another architecture.
  void check_all_used() const {
    for (const auto& [name, found] : file_.arrays()) {
      require(used_.contains(name), "{}: has {}, which a model with its options does not use",
              file_.name(), name);
    }
  }

 private:
  const Npz& file_;
  std::set<std::string> used_;
};

// Rows of a matrix by our ids. <s>, which the decoder begins with, and <pad> are zero.
std::vector<float> embedding(const std::vector<float>& from, const std::vector<int64_t>& rows,
                             int64_t width) {
  std::vector<float> to(static_cast<size_t>(Vocabulary::kEos * width));
  for (const int64_t row : rows) {
    to.insert(to.end(), from.begin() + row * width, from.begin() + (row + 1) * width);
  }
  return to;
}

class Importer {
 public:
  Importer(const Npz& file, const model::Config& config, const MarianVocabulary& source,
           const MarianVocabulary& target)
      : arrays_(file), c_(config), source_(source), target_(target) {}

  std::map<std::string, std::vector<float>> run() {
    embeddings();
    for (const Side side : {Side::encoder, Side::decoder}) {
      const schemes::Stack shape = model::stack(c_, side);
      for (int k = 0; k < shape.blocks(); ++k) block(side, k, shape.blocks_per_layer);
      if (c_.residual.name == "pre-ln") {
        norm(fmt::format("{}.residual.final_norm", prefix(side)),
             fmt::format("{}_top_ln", prefix(side)), "");
      }
    }
    arrays_.check_all_used();
    return std::move(values_);
  }

 private:
  static const char* prefix(Side side) { return side == Side::encoder ? "encoder" : "decoder"; }

  void embeddings() {
    const auto source_rows = static_cast<int64_t>(source_.rows.size());
    const auto target_rows = static_cast<int64_t>(target_.rows.size());
    const bool has_one = arrays_.contains("Wemb");  // tied-embeddings-all, or -src
    const auto source = arrays_.array(has_one ? "Wemb" : "encoder_Wemb", source_rows, c_.width);
    const auto target = arrays_.array(has_one ? "Wemb" : "decoder_Wemb", target_rows, c_.width);
    values_[model::source_embedding(c_)] = embedding(source, source_.rows, c_.width);
    values_[model::target_embedding(c_)] = embedding(target, target_.rows, c_.width);
    if (c_.sharing == model::Sharing::none) {
      const bool is_old = arrays_.contains("decoder_ff_logit_out_W");
      const auto output = is_old
                              ? arrays_.transposed("decoder_ff_logit_out_W", target_rows, c_.width)
                              : arrays_.array("decoder_ff_logit_out_Wt", target_rows, c_.width);
      values_[model::kOutputEmbedding] = embedding(output, target_.rows, c_.width);
    }
    std::vector<float> bias(static_cast<size_t>(target_rows));
    const std::string name = "decoder_ff_logit_out_b";
    if (arrays_.contains(name)) bias = arrays_.vector(name, target_rows);
    bias = embedding(bias, target_.rows, 1);
    std::fill_n(bias.begin(), Vocabulary::kEos, kNeverGiven);
    for (size_t i = 0; i < target_.rows.size(); ++i) {
      if (!target_.is_named[i]) bias[Vocabulary::kEos + i] = kNeverGiven;
    }
    values_[model::kOutputBias] = std::move(bias);
  }

  void block(Side side, int k, int per_layer) {
    const int place = k % per_layer;
    const std::string layer = fmt::format("{}_l{}", prefix(side), k / per_layer + 1);
    const std::string name = model::block_name(c_, side, k);
    if (place == per_layer - 1) {
      values_[name + ".inner.weight"] = arrays_.transposed(layer + "_ffn_W1", c_.inner, c_.width);
      values_[name + ".inner.bias"] = arrays_.vector(layer + "_ffn_b1", c_.inner);
      values_[name + ".outer.weight"] = arrays_.transposed(layer + "_ffn_W2", c_.width, c_.inner);
      values_[name + ".outer.bias"] = arrays_.vector(layer + "_ffn_b2", c_.width);
      norm(side, k, layer + "_ffn_ffn_ln");
      return;
    }
    const bool is_self = place == 0;
    const std::string attention = layer + (is_self ? "_self" : "_context");
    if (is_self) {
      linear(name + ".qkv", attention, "qkv");
    } else {
      linear(name + ".query", attention, "q");
      linear(name + ".key_value", attention, "kv");
    }
    linear(name + ".output", attention, "o");
    norm(side, k, attention + "_Wo_ln");
  }

  // Matrices that are one with us, one below the other.
  void linear(const std::string& name, const std::string& attention, std::string_view parts) {
    auto& weight = values_[name + ".weight"];
    auto& bias = values_[name + ".bias"];
    for (const char part : parts) {
      const auto w = arrays_.transposed(fmt::format("{}_W{}", attention, part), c_.width, c_.width);
      const auto b = arrays_.vector(fmt::format("{}_b{}", attention, part), c_.width);
      weight.insert(weight.end(), w.begin(), w.end());
      bias.insert(bias.end(), b.begin(), b.end());
    }
  }

  // The norm of block k.
  void norm(Side side, int k, const std::string& marian) {
    norm(fmt::format("{}.residual.norm.{}", prefix(side), k), marian,
         c_.residual.name == "pre-ln" ? "_pre" : "");
  }
  void norm(const std::string& name, const std::string& marian, const std::string& suffix) {
    values_[name + ".weight"] = arrays_.vector(marian + "_scale" + suffix, c_.width);
    values_[name + ".bias"] = arrays_.vector(marian + "_bias" + suffix, c_.width);
  }

  Arrays arrays_;
  const model::Config& c_;
  const MarianVocabulary &source_, &target_;
  std::map<std::string, std::vector<float>> values_;
};

}  // namespace

MarianModel read_marian_npz(const MarianImport& options) {
  const Npz file = Npz::open(options.weights);
  MarianModel made;
  model::Config& config = made.config =
      config_of(Options(file), options.max_positions.value_or(1024));
  require_in_range(config, file.name() + ", as our configuration");
  const auto rows = [&](const char* side) {
    const std::string name = file.contains("Wemb") ? "Wemb" : fmt::format("{}_Wemb", side);
    const std::vector<int64_t>& shape = file.at(name).shape;
    const bool fits = shape.size() == 2 && shape[1] == config.width && shape[0] < 1 << 24;
    require(fits, "{}: {} has shape [{}], expected a row of {} numbers for each symbol",
            file.name(), name, fmt::join(shape, ", "), config.width);
    return shape[0];
  };
  made.source = read_marian_vocabulary(options.source_vocabulary, rows("encoder"));
  made.target = read_marian_vocabulary(options.target_vocabulary, rows("decoder"));
  config.source_vocabulary = made.source.vocabulary.size();
  config.target_vocabulary = made.target.vocabulary.size();
  check(config);
  made.values = Importer(file, config, made.source, made.target).run();
  return made;
}

}  // namespace residual::interop
