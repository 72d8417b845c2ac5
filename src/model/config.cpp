#include "model/config.h"

#include "base/error.h"
#include "schemes/registry.h"
#include "text/vocabulary.h"

namespace residual::model {

Conventions conventions(Form form) {
  using text::Vocabulary;
  switch (form) {
    case Form::marian:
      return {.first_position = 0,
              .ends_above_lowest = false,
              .start_symbol = Vocabulary::kBos,
              .has_output_bias = true,
              .never_predicts_unk = true,
              .norm_epsilon = 1e-9,
              .scales_embeddings = true,
              .has_bert_ends = false};
    case Form::marian_hf:
      return {.first_position = 0,
              .ends_above_lowest = true,
              .start_symbol = Vocabulary::kBos,
              .has_output_bias = true,
              .never_predicts_unk = false,
              .norm_epsilon = 0,
              .scales_embeddings = true,
              .has_bert_ends = false};
    case Form::hugging_face:
      return {.first_position = 0,
              .ends_above_lowest = true,
              .start_symbol = Vocabulary::kBos,
              .has_output_bias = true,
              .never_predicts_unk = false,
              .norm_epsilon = 0,
              .scales_embeddings = false,
              .has_bert_ends = true};
    case Form::fairseq:
      break;
  }
  return {.first_position = 2,  // <pad>'s id + 1
          .ends_above_lowest = false,
          .start_symbol = Vocabulary::kEos,
          .has_output_bias = false,
          .never_predicts_unk = false,
          .norm_epsilon = 0,
          .scales_embeddings = true,
          .has_bert_ends = false};
}

namespace {

void check_vocabulary(const char* key, int64_t symbols) {
  require(symbols == 0 || symbols > text::Vocabulary::kSpecials,
          "model.{}: {} symbols are too few; {} are special, and text needs at least one more", key,
          symbols, text::Vocabulary::kSpecials);
}

}  // namespace

void check(const Config& c) {
  schemes::resolve(c.residual);
  check_vocabulary("source_vocabulary", c.source_vocabulary);
  check_vocabulary("target_vocabulary", c.target_vocabulary);
  require(c.width % c.heads == 0, "model.width: {} is not divisible by {} heads", c.width, c.heads);
  require(c.positions != Positions::sinusoidal || (c.width % 2 == 0 && c.width >= 4),
          "model.width: {} is not an even number of at least 4 (sinusoidal positions need one)",
          c.width);
  require(c.heads % c.kv_heads() == 0,
          "model.kv_heads: {} does not divide the {} heads, of which each takes an equal share",
          c.key_value_heads, c.heads);
  require(
      c.positions != Positions::rotary || c.head_width() % 2 == 0,
      "model.positions: rotary positions rotate pairs of numbers, but a head has {} (model.width "
      "{} / model.heads {})",
      c.head_width(), c.width, c.heads);
  require(
      c.special_numbers.empty() || c.special_numbers.size() == size_t{text::Vocabulary::kSpecials},
      "model.special_numbers: has {} numbers, expected {} or none", c.special_numbers.size(),
      int{text::Vocabulary::kSpecials});
  require(c.form != Form::hugging_face || c.kind != Kind::translation,
          "model.form: hugging-face is for language and masked models; translation models from "
          "there have marian-hf");
  require(!c.has_encoder() || c.encoder_layers > 0, "model.encoder_layers: is 0");
  require(!c.has_decoder() || c.decoder_layers > 0, "model.decoder_layers: is 0");
  require(c.kind != Kind::translation || c.sharing != Sharing::all ||
              c.source_vocabulary == c.target_vocabulary,
          "model.sharing: \"all\" needs one vocabulary; source has {} symbols, target {}. Prepare "
          "the corpus with vocabulary.joined = true, or set model.sharing = \"target\"",
          c.source_vocabulary, c.target_vocabulary);
}

int32_t start_symbol(const Config& c) { return conventions(c.form).start_symbol; }

void require_classic_blocks(const Config& c, const char* what) {
  const auto expect = [&](bool is_classic, const char* key, const auto& value) {
    require(is_classic, "{} have no place for a model with model.{} = {}", what, key, value);
  };
  expect(c.norm == Norm::layer, "norm", name_of(c.norm));
  expect(c.positions == Positions::sinusoidal, "positions", name_of(c.positions));
  expect(c.activation == Activation::relu, "activation", name_of(c.activation));
  expect(!c.gated, "gated", c.gated);
  expect(c.kv_heads() == c.heads, "kv_heads", c.kv_heads());
  expect(c.given_norm_epsilon == 0, "norm_epsilon", c.given_norm_epsilon);
  expect(c.biases, "biases", c.biases);
}

void require_trainable(const Config& c, const char* what) {
  require(c.form == Form::fairseq || c.form == Form::hugging_face,
          "model.form: an imported model of this kind can translate, but cannot be {}", what);
}

schemes::Stack stack(const Config& c, schemes::Side side) {
  const bool both = c.kind == Kind::translation;
  const bool encoder = side == schemes::Side::encoder;
  const int64_t other = encoder ? c.decoder_layers : c.encoder_layers;
  return {.side = side,
          .layers = static_cast<int>(encoder ? c.encoder_layers : c.decoder_layers),
          .other_layers = both ? static_cast<int>(other) : 0,
          .blocks_per_layer = both && !encoder ? 3 : 2};
}

}  // namespace residual::model
