#pragma once

#include <array>
#include <cstdint>

#include "base/config.h"
#include "schemes/options.h"
#include "schemes/scheme.h"

namespace residual::model {

// translation: encoder and decoder. language: a decoder without an encoder, predicting the next
// token. masked: an encoder alone, predicting the tokens that were hidden from it.
enum class Kind { translation, language, masked };
constexpr auto names(Kind) { return std::array{"translation", "language", "masked"}; }

// Which embedding matrices are one: source, target and output; target and output; none.
enum class Sharing { all, target, none };
constexpr auto names(Sharing) { return std::array{"all", "target", "none"}; }

// What toolkits do differently around the same blocks. fairseq: positions are counted from 2, and
// the decoder begins with </s>. marian: from 0, and with <s>, whose embedding is zero; logits have
// a bias, norms an epsilon of 1e-9. marian_hf, which is how Hugging Face's library runs Marian's
// models: the same with other frequencies of positions (positions.h), an embedding of <s>, and
// fairseq's epsilon of 1e-5.
enum class Form { fairseq, marian, marian_hf };
constexpr auto names(Form) { return std::array{"fairseq", "marian", "marian-hf"}; }

// Of a feed-forward block's inner layer: max(0, x), or x / (1 + e^-x).
enum class Activation { relu, swish };
constexpr auto names(Activation) { return std::array{"relu", "swish"}; }

// A Transformer: all that its parameters' names and shapes and its forward pass depend on.
struct Config {
  Kind kind = Kind::translation;
  int64_t encoder_layers = 6;
  int64_t decoder_layers = 6;
  int64_t width = 512;   // d: of the residual stream
  int64_t inner = 2048;  // of the feed-forward blocks
  int64_t heads = 8;
  int64_t max_positions = 1024;
  Sharing sharing = Sharing::all;
  Form form = Form::fairseq;
  Activation activation = Activation::relu;
  int64_t source_vocabulary = 0;  // a recipe leaves them 0: the prepared corpus knows
  int64_t target_vocabulary = 0;
  schemes::Options residual;

  bool has_encoder() const { return kind != Kind::language; }
  bool has_decoder() const { return kind != Kind::masked; }
  bool has_output_bias() const { return form != Form::fairseq; }
  int64_t head_width() const { return width / heads; }
};

void fields(ConfigVisitor& visit, Config& config);

// Fails unless the numbers fit each other and the scheme exists. Vocabularies of 0 pass: they may
// not be known yet.
void check(const Config& config);

// What the decoder sees before it has made anything.
int32_t start_symbol(const Config& config);

// Fails if it is a form that is only decoded: `what` is "trained".
void require_trainable(const Config& config, const char* what);

// The stack on one side as its scheme is to see it. REQUIRES: the model has that side.
schemes::Stack stack(const Config& config, schemes::Side side);

}  // namespace residual::model
