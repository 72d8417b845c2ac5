#pragma once

#include <cstdint>

#include "base/config.h"
#include "schemes/options.h"
#include "schemes/scheme.h"

namespace residual::model {

// translation: encoder and decoder. language: a decoder that predicts the next token. masked: an
// encoder that predicts hidden tokens.
enum class Kind { translation, language, masked };

// The embeddings that share a matrix: source, target and output; target and output; none.
enum class Sharing { all, target, none };

// Differences between toolkits around the same blocks:
//
// - fairseq: positions count from 2, and the decoder starts with </s>.
// - marian: positions count from 0, and the decoder starts with <s>, whose embedding is zero.
//   Logits have a bias, and norms an epsilon of 1e-9.
// - marian_hf, which is how Hugging Face's library runs Marian's models: as marian, but with other
//   position frequencies (positions.h), an embedding of <s>, and fairseq's epsilon of 1e-5.
enum class Form { fairseq, marian, marian_hf };

// The activation inside a feed-forward block: max(0, x), or x / (1 + e^-x).
enum class Activation { relu, swish };

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
  schemes::Options residual;

  bool has_encoder() const { return kind != Kind::language; }
  bool has_decoder() const { return kind != Kind::masked; }
  bool has_output_bias() const { return form != Form::fairseq; }
  int64_t head_width() const { return width / heads; }
};

void fields(ConfigVisitor& visit, Config& config);

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
