#include "interop/hugging_face.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "interop/hugging_face_files.h"
#include "interop/hugging_face_names.h"
#include "interop/marian_model.h"
#include "model/parameters.h"
#include "text/sentence_piece.h"
#include "text/unicode.h"

namespace residual::interop {
namespace {

using model::Activation;
using schemes::Side;
using text::Vocabulary;

Activation activation_of(const Settings& s, const char* key, const char* otherwise) {
  static const std::map<std::string, Activation> kNames = {
      {"relu", Activation::relu},          {"silu", Activation::swish},
      {"swish", Activation::swish},        {"gelu", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh}, {"gelu_pytorch_tanh", Activation::gelu_tanh}};
  const auto found = kNames.find(s.text(key, otherwise));
  require(found != kNames.end(),
          "{}: {} is \"{}\"; this version imports relu, silu, gelu, gelu_new and "
          "gelu_pytorch_tanh",
          s.name(), key, s.text(key, otherwise));
  return found->second;
}

struct Model {
  Family family;
  model::Config config;
  int64_t vocabulary;  // rows of its matrix
  int64_t positions;   // rows of its table of learned positions
};

Model llama_of(const Settings& s) {
  Model m{.family = Family::llama, .config = {}, .vocabulary = 0, .positions = 0};
  model::Config& c = m.config;
  c.decoder_layers = s.number("num_hidden_layers");
  c.width = s.number("hidden_size");
  c.inner = s.number("intermediate_size");
  c.heads = s.number("num_attention_heads");
  c.key_value_heads = s.number("num_key_value_heads", c.heads);
  c.max_positions = s.number("max_position_embeddings", 2048);
  c.activation = activation_of(s, "hidden_act", "silu");
  c.gated = true;
  c.norm = model::Norm::rms;
  c.given_norm_epsilon = s.real("rms_norm_eps", 1e-6);
  c.positions = model::Positions::rotary;
  c.rotary_base = s.real("rope_theta", 10000);
  // Newer versions of the library keep the base here.
  const auto rope = s.values().value("rope_parameters", nlohmann::json());
  if (rope.is_object()) {
    c.rotary_base = rope.value("rope_theta", c.rotary_base);
    require(rope.value("rope_type", "default") == "default",
            "{}: rope_parameters: rope_type is \"{}\"; this version imports \"default\"", s.name(),
            rope.value("rope_type", ""));
  }
  s.expect("rope_scaling", "", {""});
  s.expect("sliding_window", "", {""});
  s.expect("pretraining_tp", "1", {"1"});
  c.biases = s.is_on("attention_bias", false) || s.is_on("mlp_bias", false);
  c.sharing = s.is_on("tie_word_embeddings", false) ? model::Sharing::all : model::Sharing::none;
  require(c.heads > 0 && s.number("head_dim", c.width / c.heads) == c.width / c.heads,
          "{}: head_dim is {}; expected hidden_size / num_attention_heads", s.name(),
          s.number("head_dim", 0));
  return m;
}

Model gpt2_of(const Settings& s) {
  Model m{.family = Family::gpt2, .config = {}, .vocabulary = 0, .positions = 0};
  model::Config& c = m.config;
  c.decoder_layers = s.number("n_layer", 12);
  c.width = s.number("n_embd", 768);
  c.inner = s.number("n_inner", 4 * c.width);
  c.heads = s.number("n_head", 12);
  m.positions = c.max_positions = s.number("n_positions", 1024);
  c.activation = activation_of(s, "activation_function", "gelu_new");
  c.given_norm_epsilon = s.real("layer_norm_epsilon", 1e-5);
  c.positions = model::Positions::learned;
  s.expect("scale_attn_weights", "true", {"true"});
  s.expect("scale_attn_by_inverse_layer_idx", "false", {"false"});
  s.expect("add_cross_attention", "false", {"false"});
  c.sharing = s.is_on("tie_word_embeddings", true) ? model::Sharing::all : model::Sharing::none;
  return m;
}

Model bert_of(const Settings& s) {
  Model m{.family = Family::bert, .config = {}, .vocabulary = 0, .positions = 0};
  model::Config& c = m.config;
  c.kind = model::Kind::masked;
  c.encoder_layers = s.number("num_hidden_layers", 12);
  c.width = s.number("hidden_size", 768);
  c.inner = s.number("intermediate_size", 3072);
  c.heads = s.number("num_attention_heads", 12);
  m.positions = c.max_positions = s.number("max_position_embeddings", 512);
  c.activation = activation_of(s, "hidden_act", "gelu");
  c.given_norm_epsilon = s.real("layer_norm_eps", 1e-12);
  c.positions = model::Positions::learned;
  s.expect("position_embedding_type", "absolute", {"absolute"});
  s.expect("is_decoder", "false", {"false"});
  c.sharing = s.is_on("tie_word_embeddings", true) ? model::Sharing::all : model::Sharing::none;
  return m;
}

Model model_of(const Settings& s) {
  s.expect("model_type", "", {"llama", "gpt2", "bert"});
  const std::string type = s.text("model_type", "");
  Model m = type == "llama" ? llama_of(s) : type == "gpt2" ? gpt2_of(s) : bert_of(s);
  m.config.form = model::Form::hugging_face;
  if (m.config.kind != model::Kind::masked) m.config.kind = model::Kind::language;
  m.config.residual.name = m.family == Family::bert ? "post-ln" : "pre-ln";
  m.vocabulary = s.number("vocab_size");
  require(m.vocabulary > 0 && m.vocabulary < 1 << 24, "{}: vocab_size: {} is out of range",
          s.name(), m.vocabulary);
  return m;
}

// Symbols by their numbers; "" where the directory names none.
struct Symbols {
  std::vector<std::string> names;
  bool are_pieces = false;  // of a SentencePiece model
  std::string from;         // the file; "": none
};

void set_names(const nlohmann::json& numbers, const std::string& file, Symbols& symbols) {
  require(numbers.is_object(), "{}: expected an object of symbols and their numbers", file);
  for (const auto& [symbol, number] : numbers.items()) {
    require(number.is_number_integer(), "{}: the number of {} is {}", file, symbol, number.dump());
    const auto at = number.get<int64_t>();
    if (at >= 0 && at < std::ssize(symbols.names)) symbols.names[static_cast<size_t>(at)] = symbol;
  }
}

Symbols symbols_of(const fs::path& directory, int64_t count) {
  Symbols symbols{.names = std::vector<std::string>(static_cast<size_t>(count)), .from = {}};
  const auto file = [&](const char* name) {
    if (!fs::exists(directory / name)) return false;
    symbols.from = name;
    return true;
  };
  if (file("tokenizer.model")) {
    auto pieces = text::SentencePiece::load(directory / "tokenizer.model").pieces();
    pieces.resize(symbols.names.size());
    symbols.names = std::move(pieces);
    symbols.are_pieces = true;
  } else if (file("vocab.json")) {
    set_names(Settings(directory / "vocab.json").values(), "vocab.json", symbols);
  } else if (file("vocab.txt")) {
    const std::string content = read_file(directory / "vocab.txt");
    size_t at = 0;
    for (auto& name : symbols.names) {
      if (at >= content.size()) break;
      const size_t end = std::min(content.find('\n', at), content.size());
      name = content.substr(at, end - at);
      if (name.ends_with('\r')) name.pop_back();
      at = end + 1;
    }
  } else if (file("tokenizer.json")) {
    const Settings tokenizer(directory / "tokenizer.json");
    const auto inside = tokenizer.values().value("model", nlohmann::json::object());
    const auto vocabulary = inside.value("vocab", nlohmann::json::object());
    if (vocabulary.is_object()) set_names(vocabulary, "tokenizer.json", symbols);
  }
  const fs::path added = directory / "added_tokens.json";
  if (fs::exists(added)) set_names(Settings(added).values(), added.string(), symbols);
  return symbols;
}

// The number of a special symbol that tokenizers name, such as "unk_token"; -1 if there is none.
int64_t number_of(const fs::path& directory, const char* key, const Symbols& symbols) {
  for (const char* name : {"special_tokens_map.json", "tokenizer_config.json"}) {
    const auto settings = Settings::of_optional(directory / name);
    if (!settings.contains(key)) continue;
    const auto& value = settings.values()[key];
    const auto symbol = value.is_object() ? value.value("content", "") : settings.text(key, "");
    const auto at = std::ranges::find(symbols.names, symbol);
    if (!symbol.empty() && at != symbols.names.end()) return at - symbols.names.begin();
  }
  return -1;
}

int64_t first_number(const Settings& s, const char* key) {
  if (!s.contains(key)) return -1;
  const auto& value = s.values()[key];
  if (!value.is_array()) return s.number(key);
  require(!value.empty() && value[0].is_number_integer(), "{}: {}: expected numbers, got {}",
          s.name(), key, value.dump());
  return value[0].get<int64_t>();
}

// Their numbers of our <s>, <pad>, </s> and <unk>. A masked model's <s> is what stands for hidden
// tokens.
std::vector<int64_t> special_numbers(const fs::path& directory, const Model& m, const Settings& s,
                                     const Symbols& symbols) {
  std::vector<int64_t> numbers(Vocabulary::kSpecials, -1);
  const auto by_name = [&](int32_t id, const char* key, const char* symbol) {
    numbers[static_cast<size_t>(id)] = number_of(directory, key, symbols);
    if (numbers[static_cast<size_t>(id)] >= 0 || symbol == nullptr) return;
    const auto at = std::ranges::find(symbols.names, symbol);
    if (at != symbols.names.end()) numbers[static_cast<size_t>(id)] = at - symbols.names.begin();
  };
  by_name(Vocabulary::kPad, "pad_token", nullptr);
  if (numbers[Vocabulary::kPad] < 0) numbers[Vocabulary::kPad] = first_number(s, "pad_token_id");
  if (m.family == Family::bert) {
    by_name(Vocabulary::kBos, "mask_token", "[MASK]");
    by_name(Vocabulary::kEos, "sep_token", "[SEP]");
    by_name(Vocabulary::kUnk, "unk_token", "[UNK]");
  } else {
    by_name(Vocabulary::kUnk, "unk_token", symbols.are_pieces ? "<unk>" : nullptr);
    numbers[Vocabulary::kEos] = first_number(s, "eos_token_id");
    numbers[Vocabulary::kBos] = first_number(s, "bos_token_id");
    if (numbers[Vocabulary::kBos] < 0) numbers[Vocabulary::kBos] = numbers[Vocabulary::kEos];
    require(numbers[Vocabulary::kBos] >= 0,
            "{}: has neither bos_token_id nor eos_token_id; a text must begin with some symbol",
            s.name());
  }
  for (int64_t& number : numbers) {
    if (number >= m.vocabulary) number = -1;  // as some models have it for <pad>
  }
  return numbers;
}

// Whether a line of vocabulary.txt can have it, and a line of pieces.
bool can_be_named(const std::string& symbol) {
  return !symbol.empty() && symbol.find_first_of(" \t\r\n\v\f") == std::string::npos &&
         text::find_invalid_utf8(symbol) == std::string::npos;
}

Vocabulary vocabulary_of(const Symbols& symbols, const Renumbering& numbers) {
  std::set<std::string> seen = {"<s>", "<pad>", "</s>", "<unk>"};
  std::string lines;
  for (int64_t id = Vocabulary::kSpecials; id < numbers.ours(); ++id) {
    const int64_t number = numbers.theirs(id);
    std::string symbol = symbols.names[static_cast<size_t>(number)];
    // Without names, the numbers themselves are the pieces.
    if (symbols.from.empty()) symbol = fmt::format("{}", number);
    if (!can_be_named(symbol) || !seen.insert(symbol).second) {
      symbol = fmt::format("<symbol-{}>", number);
      seen.insert(symbol);
    }
    lines += symbol + " 1\n";
  }
  return Vocabulary::parse(lines, "the symbols of the model");
}

std::map<std::string, std::vector<float>> values_of(const Model& m, const Renumbering& numbers,
                                                    Tensors& tensors) {
  const model::Config& c = m.config;
  std::map<std::string, std::vector<float>> values;
  // Old files of GPT-2 and of bare models leave the prefix out.
  const std::string prefix = prefix_of(m.family);
  const auto name_in_file = [&](const std::string& name) {
    const bool is_there = tensors.contains(name) || !name.starts_with(prefix);
    return is_there ? name : name.substr(prefix.size());
  };
  const auto take = [&](const std::string& name, const std::vector<int64_t>& shape) {
    return tensors.take(name_in_file(name), shape);
  };
  for (const auto& parts : named_parts(m.family, c)) {
    auto& made = values[parts.ours];
    for (const auto& part : parts.theirs) {
      const int64_t rows = part.shape[0];
      if (part.optional && !tensors.contains(name_in_file(part.name))) {
        made.insert(made.end(), static_cast<size_t>(rows), 0.0F);
      } else if (part.transposed) {
        const auto turned = transposed(take(part.name, {part.shape[1], rows}), part.shape[1], rows);
        made.insert(made.end(), turned.begin(), turned.end());
      } else {
        const auto read = take(part.name, part.shape);
        made.insert(made.end(), read.begin(), read.end());
      }
    }
  }

  const bool is_bert = m.family == Family::bert;
  const Side side = is_bert ? Side::encoder : Side::decoder;
  const char* const embedding = is_bert ? "bert.embeddings.word_embeddings.weight"
                                : m.family == Family::gpt2 ? "transformer.wte.weight"
                                                           : "model.embed_tokens.weight";
  const std::string output = is_bert ? "cls.predictions.decoder.weight" : "lm_head.weight";
  const std::vector<int64_t> matrix = {m.vocabulary, c.width};
  const std::string ours = is_bert ? model::source_embedding(c) : model::target_embedding(c);
  if (c.sharing == model::Sharing::none) {
    values[ours] = numbers.to_ours(take(embedding, matrix), c.width);
    values[model::kOutputEmbedding] = numbers.to_ours(tensors.take(output, matrix), c.width);
  } else {
    const auto both = tensors.take_one({name_in_file(embedding), output}, matrix);
    values[ours] = numbers.to_ours(both, c.width);
  }
  std::vector<float> bias(static_cast<size_t>(m.vocabulary));
  if (is_bert)
    bias =
        tensors.take_one({"cls.predictions.bias", "cls.predictions.decoder.bias"}, {m.vocabulary});
  bias = numbers.to_ours(bias, 1);
  for (int64_t id = 0; id < numbers.ours(); ++id) {
    if (numbers.is_extra(id)) bias[static_cast<size_t>(id)] = kNeverGiven;
  }
  values[model::kOutputBias] = std::move(bias);

  if (c.positions == model::Positions::learned) {
    auto rows =
        take(is_bert ? "bert.embeddings.position_embeddings.weight" : "transformer.wpe.weight",
             {m.positions, c.width});
    rows.resize(static_cast<size_t>(c.max_positions * c.width));
    values[model::position_embedding(side)] = std::move(rows);
  }
  return values;
}

// The type of all tokens is the first, whose row all positions therefore have in them.
void add_token_type(const Model& m, const Settings& s, Tensors& tensors,
                    std::map<std::string, std::vector<float>>& values) {
  const std::string with_prefix = "bert.embeddings.token_type_embeddings.weight";
  const std::string name = tensors.contains(with_prefix) ? with_prefix : with_prefix.substr(5);
  const int64_t types = s.number("type_vocab_size", 2), width = m.config.width;
  const auto rows = tensors.take(name, {types, width});
  auto& positions = values.at(model::position_embedding(Side::encoder));
  for (size_t i = 0; i < positions.size(); ++i) positions[i] += rows[i % width];
}

// Masks and tables that files may hold, and what follows BERT's output for other tasks.
bool is_idle(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with("rotary_emb.inv_freq") || name.ends_with("embeddings.position_ids") ||
         name.starts_with("bert.pooler.") || name.starts_with("pooler.") ||
         name.starts_with("cls.seq_relationship.");
}

void require_weights(const fs::path& directory) {
  const bool is_split = fs::exists(directory / "model.safetensors.index.json");
  require(!is_split || fs::exists(directory / model::kWeightsFile),
          "{}: its weights are in several files; in Python, `save_pretrained(directory, "
          "max_shard_size=\"1TB\")` writes one",
          directory.string());
  require(fs::exists(directory / "config.json") && fs::exists(directory / model::kWeightsFile),
          "{}: expected config.json and model.safetensors, as `save_pretrained(directory, "
          "safe_serialization=True)` of Hugging Face's library writes them",
          directory.string());
}

}  // namespace

model::Description import_hugging_face(const HuggingFaceImport& o, const fs::path& output) {
  require_weights(o.directory);
  model::check_language(o.language);
  const Settings settings(o.directory / "config.json");
  Model m = model_of(settings);
  if (o.max_positions) {
    require(*o.max_positions <= m.config.max_positions,
            "--max-positions: {} are more than the model's {}", *o.max_positions,
            m.config.max_positions);
    m.config.max_positions = *o.max_positions;
  }
  const Symbols symbols = symbols_of(o.directory, m.vocabulary);
  const auto special = special_numbers(o.directory, m, settings, symbols);
  const Renumbering numbers(special, m.vocabulary);
  m.config.source_vocabulary = m.config.target_vocabulary = numbers.ours();
  m.config.special_numbers = special;
  require_in_range(m.config, settings.name() + ", as our configuration");
  check(m.config);
  Tensors tensors(o.directory / model::kWeightsFile);
  auto values = values_of(m, numbers, tensors);
  if (m.family == Family::bert) add_token_type(m, settings, tensors, values);
  tensors.pass_over(is_idle);
  tensors.check_all_used();

  const fs::path from = (o.directory / "").parent_path();  // "dir/" is "dir"
  model::Description description{
      .origin = fmt::format("imported from {} (Hugging Face's {})", from.filename().string(),
                            settings.text("model_type", "")),
      .model = m.config};
  if (symbols.are_pieces) description.directions = {{o.language, o.language, ""}};
  std::vector<model::TensorBytes> list;
  for (const auto& p : model::parameters(m.config)) {
    const auto& v = values.at(p.name);
    list.push_back({p.name,
                    model::Dtype::f32,
                    p.shape,
                    {reinterpret_cast<const char*>(v.data()), sizeof(float) * v.size()}});
  }
  model::write_directory(output, description, list, [&](const fs::path& directory) {
    vocabulary_of(symbols, numbers).save(directory / description.source_vocabulary);
    if (!symbols.are_pieces) return;
    const text::SegmenterOptions options{.language = o.language,
                                         .tokenizer = "none",
                                         .subwords = "sentencepiece",
                                         .model = "pieces.spm"};
    text::Segmenter(options, read_file(o.directory / "tokenizer.model"))
        .save(directory, o.language);
  });
  if (!symbols.are_pieces) {
    log::warn(
        "{}: its tokenizer is not imported, only SentencePiece's tokenizer.model would be; give "
        "the model pieces between spaces (--pieces), which are {}",
        o.directory.string(),
        symbols.from.empty() ? "the symbols' numbers, since no file names them"
                             : "the symbols of " + symbols.from);
  }
  return description;
}

}  // namespace residual::interop
