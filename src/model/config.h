#pragma once

#include <array>
#include <cstdint>

#include "base/config.h"
#include "schemes/choice.h"
#include "schemes/scheme.h"

namespace residual::model {

// translation: encoder and decoder. language: a decoder that predicts the next token. masked: an
// encoder that predicts hidden tokens.
enum class Kind { translation, language, masked };
constexpr auto names(Kind) { return std::array{"translation", "language", "masked"}; }

// The embeddings that share a matrix: source, target and output; target and output; none.
enum class Sharing { all, target, none };
constexpr auto names(Sharing) { return std::array{"all", "target", "none"}; }

// The toolkit a model follows where toolkits differ around the same blocks. marian_hf is how
// Hugging Face's library runs Marian's models. Only Conventions depend on it.
enum class Form { fairseq, marian, marian_hf };
constexpr auto names(Form) { return std::array{"fairseq", "marian", "marian-hf"}; }

// The activation inside a feed-forward block: max(0, x), or x / (1 + e^-x).
enum class Activation { relu, swish };
constexpr auto names(Activation) { return std::array{"relu", "swish"}; }

// What a form stands for.
struct Conventions {
  int64_t first_position;   // the number of a sentence's first token
  bool ends_above_lowest;   // the positions' last frequency is above 1 / 10000 (positions.h)
  int32_t start_symbol;     // the decoder's first input; an importer may make its embedding 0
  bool has_output_bias;     // added to logits
  bool never_predicts_unk;  // <unk> is forbidden in every search
  double norm_epsilon;      // of every layer norm; 0: what the scheme asks for
};
Conventions conventions(Form form);

// The architecture of a Transformer, which determines its parameters' names and shapes and its
// forward pass.
struct Config {
  Kind kind = Kind::translation;
  int64_t encoder_layers = 6;
  int64_t decoder_layers = 6;
  int64_t width = 512;   // d: width of the residual stream
  int64_t inner = 2048;  // width inside the feed-forward blocks
  int64_t heads = 8;
  int64_t max_positions = 1024;
  Sharing sharing = Sharing::all;
  Form form = Form::fairseq;
  Activation activation = Activation::relu;
  int64_t source_vocabulary = 0;  // 0 in a recipe: taken from the prepared corpus
  int64_t target_vocabulary = 0;
  schemes::Choice residual;

  bool has_encoder() const { return kind != Kind::language; }
  bool has_decoder() const { return kind != Kind::masked; }
  // Symbols that the model predicts.
  int64_t output_vocabulary() const {
    return has_decoder() ? target_vocabulary : source_vocabulary;
  }
  bool has_output_bias() const { return conventions(form).has_output_bias; }
  bool never_predicts_unk() const { return conventions(form).never_predicts_unk; }
  double norm_epsilon() const { return conventions(form).norm_epsilon; }
  int64_t head_width() const { return width / heads; }
};
inline void fields(ConfigVisitor& visit, Config& c) {
  visit.choice("kind", c.kind,
               "encoder and decoder, decoder alone (next token), encoder alone (hidden tokens)");
  visit("encoder_layers", c.encoder_layers, "layers of the encoder", {.min = 0, .max = 1000});
  visit("decoder_layers", c.decoder_layers, "layers of the decoder", {.min = 0, .max = 1000});
  visit("width", c.width, "width of the residual stream", {.min = 1, .max = 65536});
  visit("inner", c.inner, "width inside the feed-forward blocks", {.min = 1, .max = 1 << 20});
  visit("heads", c.heads, "attention heads; must divide the width", {.min = 1, .max = 1024});
  visit("max_positions", c.max_positions, "longest sentence in tokens, </s> included",
        {.min = 2, .max = 1 << 20});
  visit.choice(
      "sharing", c.sharing,
      "embeddings that share a matrix: source, target and output; target and output; none");
  visit.choice(
      "form", c.form,
      "toolkit whose positions, first symbol and output to use; marian's are for imported models");
  visit.choice("activation", c.activation,
               "activation of the feed-forward blocks; swish is for imported models");
  visit("source_vocabulary", c.source_vocabulary, "size; 0: taken from the prepared corpus",
        {.min = 0, .max = 1 << 24});
  visit("target_vocabulary", c.target_vocabulary, "size; 0: taken from the prepared corpus",
        {.min = 0, .max = 1 << 24});
  visit.table("residual", c.residual, "residual scheme; `residual schemes` lists them");
}

// Throws an Error unless the numbers are consistent and the scheme exists. Vocabularies of 0 pass,
// since they may not be known yet.
void check(const Config& config);

// Returns the decoder's first input symbol.
int32_t start_symbol(const Config& config);

// Throws an Error if models of this form can only be decoded. `what` completes "cannot be":
// "trained".
void require_trainable(const Config& config, const char* what);

// Returns the stack of one side as its scheme sees it. REQUIRES: the model has that side.
schemes::Stack stack(const Config& config, schemes::Side side);

}  // namespace residual::model
