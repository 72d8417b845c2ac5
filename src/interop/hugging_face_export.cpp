#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "interop/export.h"
#include "interop/hugging_face.h"
#include "interop/hugging_face_names.h"
#include "interop/marian_model.h"
#include "model/export.h"
#include "model/parameters.h"
#include "text/vocabulary.h"

namespace residual::interop {
namespace {

using nlohmann::ordered_json;
using schemes::Side;
using text::Vocabulary;

// The family whose blocks, norms and positions the model has.
Family family_of(const model::Directory& model) {
  const model::Config& c = model.description().model;
  const std::string& scheme = c.residual.name;
  const auto fits = [&](const char* residual, model::Norm norm, model::Positions positions,
                        bool gated) {
    return scheme == residual && c.norm == norm && c.positions == positions && c.gated == gated;
  };
  using model::Norm, model::Positions;
  if (c.kind == model::Kind::language) {
    if (fits("pre-ln", Norm::rms, Positions::rotary, true)) return Family::llama;
    if (fits("pre-ln", Norm::layer, Positions::learned, false) && c.kv_heads() == c.heads &&
        c.biases)
      return Family::gpt2;
  }
  if (c.has_bert_ends() && c.biases && c.kv_heads() == c.heads &&
      fits("post-ln", Norm::layer, Positions::learned, false))
    return Family::bert;
  fail(
      "{}: is a {} {} model with {} norms, {} positions{}; Hugging Face's library runs pre-ln "
      "language models with RMSNorm, rotary positions and gates (Llama) or with LayerNorm, learned "
      "positions and biases (GPT-2), and imported BERT models",
      model.path().string(), scheme, name_of(c.kind), name_of(c.norm), name_of(c.positions),
      c.gated ? " and gates" : "");
}

const char* activation_name(model::Activation activation) {
  switch (activation) {
    case model::Activation::relu:
      return "relu";
    case model::Activation::swish:
      return "silu";
    case model::Activation::gelu:
      return "gelu";
    case model::Activation::gelu_tanh:
      break;
  }
  return "gelu_new";
}

class Exporter {
 public:
  explicit Exporter(const model::Directory& model)
      : model_(model),
        c_(model.description().model),
        family_(family_of(model)),
        numbers_(special_numbers(), vocabulary_size()) {}

  model::ExportedTensors tensors() {
    for (const auto& parts : named_parts(family_, c_)) {
      const auto values = values_of(parts.ours);
      size_t at = 0;
      for (const auto& part : parts.theirs) {
        int64_t count = 1;
        for (const int64_t extent : part.shape) count *= extent;
        std::vector<float> some(values.begin() + at, values.begin() + at + count);
        at += count;
        auto shape = part.shape;
        if (part.transposed) {
          some = transposed(some, shape[0], shape[1]);
          std::swap(shape[0], shape[1]);
        }
        add(part.name, shape, some);
      }
    }
    ends();
    return std::move(tensors_);
  }

  ordered_json config() const {
    ordered_json out;
    const double epsilon = c_.norm_epsilon() > 0 ? c_.norm_epsilon() : schemes::kNormEpsilon;
    const bool is_tied = !has_own_output();
    switch (family_) {
      case Family::llama:
        out = {{"architectures", {"LlamaForCausalLM"}},
               {"model_type", "llama"},
               {"hidden_size", c_.width},
               {"intermediate_size", c_.inner},
               {"num_hidden_layers", c_.decoder_layers},
               {"num_attention_heads", c_.heads},
               {"num_key_value_heads", c_.kv_heads()},
               {"max_position_embeddings", c_.max_positions},
               {"hidden_act", activation_name(c_.activation)},
               {"rms_norm_eps", epsilon},
               {"rope_theta", c_.rotary_base},
               {"attention_bias", c_.biases},
               {"mlp_bias", c_.biases}};
        break;
      case Family::gpt2:
        out = {{"architectures", {"GPT2LMHeadModel"}},
               {"model_type", "gpt2"},
               {"n_embd", c_.width},
               {"n_inner", c_.inner},
               {"n_layer", c_.decoder_layers},
               {"n_head", c_.heads},
               {"n_positions", c_.max_positions},
               {"activation_function", activation_name(c_.activation)},
               {"layer_norm_epsilon", epsilon}};
        break;
      case Family::bert:
        out = {{"architectures", {"BertForMaskedLM"}},
               {"model_type", "bert"},
               {"hidden_size", c_.width},
               {"intermediate_size", c_.inner},
               {"num_hidden_layers", c_.encoder_layers},
               {"num_attention_heads", c_.heads},
               {"max_position_embeddings", c_.max_positions},
               {"type_vocab_size", 1},
               {"hidden_act", activation_name(c_.activation)},
               {"layer_norm_eps", epsilon}};
        break;
    }
    out["vocab_size"] = numbers_.count();
    out["tie_word_embeddings"] = is_tied;
    const auto name = [&](const char* key, int32_t id) {
      if (numbers_.theirs(id) >= 0) out[key] = numbers_.theirs(id);
    };
    if (family_ != Family::bert) {
      name("bos_token_id", model::start_symbol(c_));
      name("eos_token_id", Vocabulary::kEos);
    }
    name("pad_token_id", Vocabulary::kPad);
    out["torch_dtype"] = "float32";
    return out;
  }

  // Symbols and their numbers.
  ordered_json symbols() const {
    const Vocabulary vocabulary =
        c_.has_decoder() ? model_.target_vocabulary() : model_.source_vocabulary();
    ordered_json numbers = ordered_json::object();
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
      if (!numbers_.is_extra(id)) numbers[std::string(vocabulary.symbol(id))] = numbers_.theirs(id);
    }
    return numbers;
  }
  // What special symbols are called there.
  ordered_json special_symbols() const {
    ordered_json names = ordered_json::object();
    const auto name = [&](const char* key, int32_t id, const char* symbol) {
      if (!numbers_.is_extra(id)) names[key] = symbol;
    };
    name(family_ == Family::bert ? "mask_token" : "bos_token", Vocabulary::kBos, "<s>");
    name("pad_token", Vocabulary::kPad, "<pad>");
    name(family_ == Family::bert ? "sep_token" : "eos_token", Vocabulary::kEos, "</s>");
    name("unk_token", Vocabulary::kUnk, "<unk>");
    return names;
  }

 private:
  std::vector<int64_t> special_numbers() const {
    const auto& given = c_.special_numbers;
    return given.empty() ? std::vector<int64_t>{0, 1, 2, 3} : given;
  }
  // Of theirs: ours, but for special symbols that are none of theirs, or copies.
  int64_t vocabulary_size() const {
    const auto special = special_numbers();
    const std::set<int64_t> distinct(special.begin(), special.end());
    const auto known = std::ssize(distinct) - static_cast<int64_t>(distinct.contains(-1));
    return c_.output_vocabulary() - Vocabulary::kSpecials + known;
  }
  // A factor on embeddings goes into their matrix, which the output then cannot share.
  bool has_own_output() const {
    return c_.sharing == model::Sharing::none || c_.embedding_factor() != 1;
  }

  std::vector<float> values_of(const std::string& name) const {
    const model::TensorView& tensor = model_.parameter(name);
    require(tensor.dtype != model::Dtype::i8, "{}: is int8; export the model it was made from",
            model_.path().string());
    return tensor.to_float();
  }
  void add(const std::string& name, const std::vector<int64_t>& shape,
           const std::vector<float>& values) {
    tensors_.add(name, model::Dtype::f32, shape, values);
  }
  void add_matrix(const std::string& name, const std::vector<float>& ours) {
    add(name, {numbers_.count(), c_.width}, numbers_.to_theirs(ours, c_.width));
  }

  void ends() {
    const bool is_bert = family_ == Family::bert;
    auto embedding = values_of(is_bert ? model::source_embedding(c_) : model::target_embedding(c_));
    for (float& value : embedding) value *= static_cast<float>(c_.embedding_factor());
    add_matrix(is_bert                   ? "bert.embeddings.word_embeddings.weight"
               : family_ == Family::gpt2 ? "transformer.wte.weight"
                                         : "model.embed_tokens.weight",
               embedding);
    if (has_own_output()) {
      add_matrix(is_bert ? "cls.predictions.decoder.weight" : "lm_head.weight",
                 values_of(model::output_embedding(c_)));
    }
    if (c_.has_output_bias()) {
      const auto bias = numbers_.to_theirs(values_of(model::kOutputBias), 1);
      if (is_bert) {
        add("cls.predictions.bias", {numbers_.count()}, bias);
      } else {
        for (const float value : bias)
          require(value == 0, "{}: has biases of logits, for which Hugging Face's {} has no place",
                  model_.path().string(), family_ == Family::gpt2 ? "GPT-2" : "Llama");
      }
    }
    if (c_.positions != model::Positions::learned) return;
    const auto rows = values_of(model::position_embedding(is_bert ? Side::encoder : Side::decoder));
    add(is_bert ? "bert.embeddings.position_embeddings.weight" : "transformer.wpe.weight",
        {c_.max_positions, c_.width}, rows);
    if (is_bert) {
      add("bert.embeddings.token_type_embeddings.weight", {1, c_.width},
          std::vector<float>(static_cast<size_t>(c_.width)));
    }
  }

  const model::Directory& model_;
  const model::Config& c_;
  Family family_;
  Renumbering numbers_;
  model::ExportedTensors tensors_;
};

}  // namespace

void export_hugging_face(const model::Directory& model, const fs::path& output) {
  Exporter exporter(model);
  const model::ExportedTensors tensors = exporter.tensors();
  AtomicDirectory directory(output, /*replace=*/true, model::kWeightsFile);
  const fs::path& to = directory.path();
  model::write_safetensors(to / model::kWeightsFile, tensors.list,
                           {{"format", "pt"}, {"scheme", model.description().model.residual.name}});
  replace_file(to / "config.json", exporter.config().dump(2) + "\n");
  replace_file(to / "vocab.json", exporter.symbols().dump(1) + "\n");
  replace_file(to / "special_tokens_map.json", exporter.special_symbols().dump(1) + "\n");
  const auto& d = model.description();
  // The library's tokenizer takes a symbol's number from the SentencePiece model.
  const bool has_their_numbers = !d.model.special_numbers.empty() && !d.directions.empty();
  const auto options = has_their_numbers ? model.segmenter(d.directions[0].target).options()
                                         : text::SegmenterOptions();
  if (options.subwords == "sentencepiece") {
    replace_file(to / "tokenizer.model", model.read(options.model));
  } else {
    copy_subword_models(model, to);
  }
  directory.commit();
}

}  // namespace residual::interop
