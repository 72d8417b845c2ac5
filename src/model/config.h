#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

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
// Hugging Face's library runs Marian's models; hugging_face, how it runs language and masked
// models. Only Conventions depend on it.
enum class Form { fairseq, marian, marian_hf, hugging_face };
constexpr auto names(Form) { return std::array{"fairseq", "marian", "marian-hf", "hugging-face"}; }

// The activation inside a feed-forward block: max(0, x); x / (1 + e^-x), also called SiLU; x times
// the normal distribution's function; the same by its approximation with tanh.
enum class Activation { relu, swish, gelu, gelu_tanh };
constexpr auto names(Activation) { return std::array{"relu", "swish", "gelu", "gelu-tanh"}; }

// LayerNorm, or RMSNorm (Zhang and Sennrich 2019): x / sqrt(mean(x^2) + epsilon) * weight.
enum class Norm { layer, rms };
constexpr auto names(Norm) { return std::array{"layer", "rms"}; }

// What tells tokens their places: sinusoids or learned rows that are added to embeddings, or
// rotations of queries and keys in self-attention (Su et al. 2021, arXiv:2104.09864).
enum class Positions { sinusoidal, learned, rotary };
constexpr auto names(Positions) { return std::array{"sinusoidal", "learned", "rotary"}; }

// What a form stands for.
struct Conventions {
  int64_t first_position;   // the number of a sentence's first token
  bool ends_above_lowest;   // the positions' last frequency is above 1 / 10000 (positions.h)
  int32_t start_symbol;     // the decoder's first input; an importer may make its embedding 0
  bool has_output_bias;     // added to logits
  bool never_predicts_unk;  // <unk> is forbidden in every search
  double norm_epsilon;      // of every norm; 0: what the scheme asks for
  bool scales_embeddings;   // by the square root of the width
  bool has_bert_ends;  // masked models: a norm of embeddings, and BERT's head before the output
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
  bool gated = false;
  int64_t key_value_heads = 0;  // 0: as many as heads
  Positions positions = Positions::sinusoidal;
  double rotary_base = 10000;
  Norm norm = Norm::layer;
  double given_norm_epsilon = 0;  // 0: the form's
  bool biases = true;
  int64_t source_vocabulary = 0;  // 0 in a recipe: taken from the prepared corpus
  int64_t target_vocabulary = 0;
  // Of a model from Hugging Face's library: the numbers that its vocabulary has for our <s>, <pad>,
  // </s> and <unk>; -1: none. Its other symbols follow ours in their order.
  std::vector<int64_t> special_numbers;
  schemes::Choice residual;

  bool has_encoder() const { return kind != Kind::language; }
  bool has_decoder() const { return kind != Kind::masked; }
  // Symbols that the model predicts.
  int64_t output_vocabulary() const {
    return has_decoder() ? target_vocabulary : source_vocabulary;
  }
  bool has_output_bias() const { return conventions(form).has_output_bias; }
  bool never_predicts_unk() const { return conventions(form).never_predicts_unk; }
  bool has_bert_ends() const { return kind == Kind::masked && conventions(form).has_bert_ends; }
  // Of every norm; 0: what the scheme asks for.
  double norm_epsilon() const {
    return given_norm_epsilon > 0 ? given_norm_epsilon : conventions(form).norm_epsilon;
  }
  // Factor on embeddings.
  double embedding_factor() const {
    return conventions(form).scales_embeddings ? std::sqrt(static_cast<double>(width)) : 1;
  }
  int64_t head_width() const { return width / heads; }
  // Heads of keys and values; each serves as many consecutive heads of queries.
  int64_t kv_heads() const { return key_value_heads > 0 ? key_value_heads : heads; }
  int64_t kv_width() const { return kv_heads() * head_width(); }
  // Rows of the first matrix of a feed-forward block: with gates, those that the activation takes,
  // then those that its result is multiplied by.
  int64_t inner_rows() const { return gated ? 2 * inner : inner; }
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
               "activation of the feed-forward blocks; swish is also called SiLU");
  visit("gated", c.gated,
        "feed-forward blocks multiply the activation by a second product: SwiGLU, GeGLU");
  visit("kv_heads", c.key_value_heads,
        "heads of keys and values, each shared by a group of heads; 0: as many as heads",
        {.min = 0, .max = 1024});
  visit.choice("positions", c.positions,
               "sinusoids, or learned rows, added to embeddings; or rotated queries and keys");
  visit("rotary_base", c.rotary_base, "base of the wavelengths of rotary positions",
        {.min = 1, .above_min = true});
  visit.choice("norm", c.norm, "LayerNorm or RMSNorm, wherever the scheme has a norm");
  visit("norm_epsilon", c.given_norm_epsilon,
        "added under the root of every norm; 0: what the form or the scheme has",
        {.min = 0, .max = 1});
  visit("biases", c.biases, "matrices of the blocks have biases");
  visit("source_vocabulary", c.source_vocabulary, "size; 0: taken from the prepared corpus",
        {.min = 0, .max = 1 << 24});
  visit("target_vocabulary", c.target_vocabulary, "size; 0: taken from the prepared corpus",
        {.min = 0, .max = 1 << 24});
  visit("special_numbers", c.special_numbers,
        "of a model from Hugging Face's library: its numbers of <s>, <pad>, </s>, <unk>");
  visit.table("residual", c.residual, "residual scheme; `residual schemes` lists them");
}

// Throws an Error unless the numbers are consistent and the scheme exists. Vocabularies of 0 pass,
// since they may not be known yet.
void check(const Config& config);

// Returns the decoder's first input symbol.
int32_t start_symbol(const Config& config);

// Throws an Error unless the blocks are those of Vaswani et al. 2017: LayerNorm, sinusoidal
// positions, ReLU without gates, as many key heads as query heads, biases. `what` begins the
// message: "fairseq's checkpoints".
void require_classic_blocks(const Config& config, const char* what);

// Throws an Error if models of this form can only be decoded. `what` completes "cannot be":
// "trained".
void require_trainable(const Config& config, const char* what);

// Returns the stack of one side as its scheme sees it. REQUIRES: the model has that side.
schemes::Stack stack(const Config& config, schemes::Side side);

}  // namespace residual::model
