#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "interop/hugging_face_files.h"
#include "interop/marian_model.h"
#include "model/parameters.h"
#include "model/positions.h"

namespace residual::interop {
namespace {

using schemes::Side;
using text::Vocabulary;

// Checks all settings that change the computation but that the engine supports with one value only.
// Versions of the library differ in which of these they use.
void check(const Settings& s) {
  s.expect("model_type", "", {"marian"});
  s.expect("is_encoder_decoder", "true", {"true"});
  s.expect("activation_function", "gelu", {"relu", "swish", "silu"});
  s.expect("scale_embedding", "false", {"true"});
  s.expect("static_position_embeddings", "true", {"true"});
  for (const char* key : {"normalize_before", "normalize_embedding", "add_final_layer_norm",
                          "add_bias_logits", "tie_encoder_decoder"}) {
    s.expect(key, "false", {"false"});
  }
  s.expect_same("encoder_attention_heads", "decoder_attention_heads");
  s.expect_same("encoder_ffn_dim", "decoder_ffn_dim");
}

// Checks the settings of the library's search that our search does not support.
void check_search(const Settings& s, int64_t pad) {
  const std::string only_pad = fmt::format("[[{}]]", pad);
  s.expect("bad_words_ids", only_pad, {only_pad, "[]"});
  for (const char* key : {"forced_bos_token_id", "forced_decoder_ids", "suppress_tokens",
                          "begin_suppress_tokens", "sequence_bias"}) {
    s.expect(key, "", {"", "[]"});
  }
}

model::Config config_of(const Settings& s, std::optional<int64_t> max_positions) {
  check(s);
  model::Config c;
  c.encoder_layers = s.number("encoder_layers");
  c.decoder_layers = s.number("decoder_layers");
  c.width = s.number("d_model");
  c.inner = s.number("encoder_ffn_dim");
  c.heads = s.number("encoder_attention_heads");
  c.max_positions = max_positions ? *max_positions : s.number("max_position_embeddings");
  c.form = model::Form::marian_hf;
  c.activation = s.text("activation_function", "") == "relu" ? model::Activation::relu
                                                             : model::Activation::swish;
  c.residual.name = "post-ln";
  // Source and target embeddings that the file shares without the output become separate matrices.
  c.sharing = model::Sharing::none;
  if (s.is_on("tie_word_embeddings", true)) {
    const bool has_one = s.is_on("share_encoder_decoder_embeddings", true);
    c.sharing = has_one ? model::Sharing::all : model::Sharing::target;
  }
  return c;
}

class Importer {
 public:
  Importer(const fs::path& path, const MarianModel& model, const Settings& settings)
      : tensors_(path), c_(model.config), source_(model.source), target_(model.target) {
    start_ = settings.number("decoder_start_token_id");
    positions_ = settings.number("max_position_embeddings");
    has_shared_ = settings.is_on("share_encoder_decoder_embeddings", true);
  }

  std::map<std::string, std::vector<float>> run() {
    embeddings();
    for (const Side side : {Side::encoder, Side::decoder}) {
      const schemes::Stack shape = model::stack(c_, side);
      for (int k = 0; k < shape.blocks(); ++k) block(side, k, shape.blocks_per_layer);
      check_positions(fmt::format("model.{}.embed_positions.weight", prefix(side)));
    }
    tensors_.check_all_used();
    return std::move(values_);
  }

 private:
  static const char* prefix(Side side) { return side == Side::encoder ? "encoder" : "decoder"; }

  // Rows of a matrix by our ids. Our <s> is what the decoder begins with, the library's <pad> as a
  // rule; <pad> itself has its part in the sum of probabilities, and is never given.
  std::vector<float> renumbered(const std::vector<float>& from, const MarianVocabulary& vocabulary,
                                int64_t width) const {
    std::vector<float> to;
    to.reserve(from.size() + static_cast<size_t>(width));
    const auto append = [&](int64_t row) {
      to.insert(to.end(), from.begin() + row * width, from.begin() + (row + 1) * width);
    };
    append(&vocabulary == &target_ ? start_ : vocabulary.pad);
    append(vocabulary.pad);
    for (const int64_t row : vocabulary.rows) append(row);
    return to;
  }

  void embeddings() {
    const std::string shared = "model.shared.weight", output = "lm_head.weight";
    std::vector<std::string> source = {"model.encoder.embed_tokens.weight"};
    std::vector<std::string> target = {"model.decoder.embed_tokens.weight"};
    if (has_shared_) source = target = {shared, source[0], target[0]};
    if (c_.sharing != model::Sharing::none) target.push_back(output);
    const auto rows = [](const MarianVocabulary& v) { return static_cast<int64_t>(v.rows.size()); };
    const int64_t source_rows = rows(source_) + 1, target_rows = rows(target_) + 1;  // with <pad>
    const auto put = [&](const std::string& name, const std::vector<std::string>& theirs,
                         const MarianVocabulary& vocabulary, int64_t count) {
      values_[name] =
          renumbered(tensors_.take_one(theirs, {count, c_.width}), vocabulary, c_.width);
    };
    if (c_.sharing != model::Sharing::all)
      put(model::source_embedding(c_), source, source_, source_rows);
    put(model::target_embedding(c_), target, target_, target_rows);
    if (c_.sharing == model::Sharing::none)
      put(model::kOutputEmbedding, {output}, target_, target_rows);

    std::vector<float> bias(static_cast<size_t>(target_rows));  // the library's if there is none
    const std::string name = "final_logits_bias";
    if (tensors_.contains(name)) bias = tensors_.take(name, {1, target_rows});
    bias = renumbered(bias, target_, 1);
    bias[Vocabulary::kBos] = kNeverGiven;
    for (size_t i = 0; i < target_.rows.size(); ++i) {
      if (!target_.is_named[i]) bias[Vocabulary::kEos + i] = kNeverGiven;
    }
    values_[model::kOutputBias] = std::move(bias);
  }

  void block(Side side, int k, int per_layer) {
    const int place = k % per_layer;
    const std::string layer = fmt::format("model.{}.layers.{}.", prefix(side), k / per_layer);
    const std::string name = model::block_name(c_, side, k);
    if (place == per_layer - 1) {
      linear(name + ".inner", {layer + "fc1"}, c_.inner, c_.width);
      linear(name + ".outer", {layer + "fc2"}, c_.width, c_.inner);
      return norm(side, k, layer + "final_layer_norm");
    }
    const bool is_self = place == 0;
    const std::string attention = layer + (is_self ? "self_attn" : "encoder_attn");
    const std::string query = attention + ".q_proj", key = attention + ".k_proj";
    const std::string value = attention + ".v_proj";
    if (is_self) {
      linear(name + ".qkv", {query, key, value}, c_.width, c_.width);
    } else {
      linear(name + ".query", {query}, c_.width, c_.width);
      linear(name + ".key_value", {key, value}, c_.width, c_.width);
    }
    linear(name + ".output", {attention + ".out_proj"}, c_.width, c_.width);
    norm(side, k, attention + "_layer_norm");
  }

  // Matrices [out, in] that are one with us, one below the other.
  void linear(const std::string& name, const std::vector<std::string>& parts, int64_t out,
              int64_t in) {
    auto& weight = values_[name + ".weight"];
    auto& bias = values_[name + ".bias"];
    for (const auto& part : parts) {
      const auto w = tensors_.take(part + ".weight", {out, in});
      const auto b = tensors_.take(part + ".bias", {out});
      weight.insert(weight.end(), w.begin(), w.end());
      bias.insert(bias.end(), b.begin(), b.end());
    }
  }
  void norm(Side side, int k, const std::string& theirs) {
    const std::string name = fmt::format("{}.residual.norm.{}", prefix(side), k);
    values_[name + ".weight"] = tensors_.take(theirs + ".weight", {c_.width});
    values_[name + ".bias"] = tensors_.take(theirs + ".bias", {c_.width});
  }

  // Some files hold the sinusoids, which must then be those, but for float16's rounding.
  void check_positions(const std::string& name) {
    if (!tensors_.contains(name)) return;
    const auto table = tensors_.take(name, {positions_, c_.width});
    std::vector<float> row(static_cast<size_t>(c_.width));
    for (int64_t i = 0; i < positions_; ++i) {
      model::sinusoid(i, row, c_.form);
      const auto is_near = [](float a, float b) { return std::abs(a - b) < 1e-3F; };
      require(std::equal(row.begin(), row.end(), table.begin() + i * c_.width, is_near),
              "{} does not hold the library's sinusoids; this version imports no other positions",
              name);
    }
  }

  Tensors tensors_;
  const model::Config& c_;
  const MarianVocabulary &source_, &target_;
  int64_t start_ = 0, positions_ = 0;
  bool has_shared_ = true;
  std::map<std::string, std::vector<float>> values_;
};

void require_file(const fs::path& directory, const char* name) {
  require(fs::exists(directory / name),
          "{}: has no {}; expected the files of a MarianMTModel as Hugging Face's library saves it",
          directory.string(), name);
}

MarianVocabulary read_vocabulary(const fs::path& path, const Settings& settings, const char* size) {
  const int64_t rows = settings.number(size);
  require(rows > 2 && rows < 1 << 24, "{}: {}: {} is out of range", settings.name(), size, rows);
  MarianVocabulary vocabulary = read_marian_hf_vocabulary(path, rows);
  for (size_t i = 0; i < vocabulary.rows.size(); ++i) {
    if (vocabulary.is_named[i]) continue;
    log::warn("{}: symbol {} is empty or has a blank; the model will not output it", path.string(),
              vocabulary.rows[i]);
  }
  return vocabulary;
}

// The numbers of special symbols are those of the vocabulary that translations are made of.
void check_symbols(const Settings& settings, const MarianVocabulary& target) {
  const auto expect = [&](const char* key, int64_t number, const char* symbol) {
    require(settings.number(key) == number, "{}: {} is {}, but the vocabulary's {} is {}",
            settings.name(), key, settings.number(key), symbol, number);
  };
  expect("eos_token_id", target.rows[0], "</s>");
  expect("pad_token_id", target.pad, "<pad>");
  const int64_t start = settings.number("decoder_start_token_id");
  const auto rows = static_cast<int64_t>(target.rows.size()) + 1;  // with <pad>'s
  require(start >= 0 && start < rows,
          "{}: decoder_start_token_id: {} is not the number of a symbol", settings.name(), start);
}

}  // namespace

void complete_from_hf(MarianImport& o) {
  const fs::path& directory = o.weights;
  require(o.source_vocabulary.empty() && o.target_vocabulary.empty() && o.source_pieces.empty() &&
              o.target_pieces.empty(),
          "{}: is a directory with vocabularies and SentencePiece models; give no others",
          directory.string());
  for (const char* name : {"config.json", "vocab.json", "source.spm", "target.spm"}) {
    require_file(directory, name);
  }
  const auto tokenizer = Settings::of_optional(directory / "tokenizer_config.json");
  const bool has_two = tokenizer.is_on("separate_vocabs", false);
  if (has_two) require_file(directory, "target_vocab.json");
  o.source_vocabulary = directory / "vocab.json";
  o.target_vocabulary = directory / (has_two ? "target_vocab.json" : "vocab.json");
  o.source_pieces = directory / "source.spm";
  o.target_pieces = directory / "target.spm";
  const auto complete = [&](std::string& language, const char* key, const char* option) {
    if (language.empty()) language = tokenizer.text(key, "");
    require(!language.empty(), "{}: its tokenizer_config.json has no {}; give {}",
            directory.string(), key, option);
  };
  complete(o.source_language, "source_lang", "--source-language");
  if (!has_many_targets(o)) complete(o.target_language, "target_lang", "--target-language");
}

MarianModel read_marian_hf(const MarianImport& options) {
  const fs::path weights = options.weights / "model.safetensors";
  require(
      fs::exists(weights) || !fs::exists(options.weights / "pytorch_model.bin"),
      "{}: has a pytorch_model.bin, which only Python reads, but no model.safetensors. In Python, "
      "`from transformers import MarianMTModel as M; M.from_pretrained(\"{}\")"
      ".save_pretrained(\"{}\", safe_serialization=True)` writes one",
      options.weights.string(), options.weights.string(), options.weights.string());
  require_file(options.weights, "model.safetensors");
  const Settings settings(options.weights / "config.json");
  const auto search = Settings::of_optional(options.weights / "generation_config.json");
  MarianModel made;
  model::Config& config = made.config = config_of(settings, options.max_positions);
  require_in_range(config, settings.name() + ", as our configuration");
  made.source = read_vocabulary(options.source_vocabulary, settings, "vocab_size");
  const bool has_other = settings.contains("decoder_vocab_size");
  const char* size = has_other ? "decoder_vocab_size" : "vocab_size";
  made.target = read_vocabulary(options.target_vocabulary, settings, size);
  check_symbols(settings, made.target);
  for (const auto* each : {&settings, &search}) check_search(*each, made.target.pad);
  for (const char* key : {"decoder_start_token_id", "eos_token_id"}) {
    require(!search.contains(key) || search.number(key) == settings.number(key),
            "{}: {} differs from config.json", search.name(), key);
  }
  config.source_vocabulary = made.source.vocabulary.size();
  config.target_vocabulary = made.target.vocabulary.size();
  check(config);
  made.values = Importer(weights, made, settings).run();
  return made;
}

}  // namespace residual::interop
