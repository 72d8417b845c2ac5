#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/config.h"
#include "schemes/init.h"

// Names, shapes and initial values of a model's parameters. Training, decoding, import and export
// all use these definitions.
namespace residual::model {

// A part of a stacked matrix. Matrices that are always multiplied together form one: rows [0, d) of
// a self-attention's qkv are the queries, followed by the keys and the values.
struct MatrixPart {
  schemes::Role role;
  int64_t rows;
};

struct Parameter {
  std::string name;
  std::vector<int64_t> shape;
  schemes::Side side = schemes::Side::encoder;  // side of the stack or of the embedding
  int block = -1;                               // index in that stack; -1: not in a block
  std::vector<MatrixPart> parts;                // top to bottom; empty: a parameter of the scheme
  int64_t inputs = 0;                           // fan-in of the matrix, also for its bias
  double value = 0;                             // initial value of a scheme's parameter

  int64_t size() const;
};

// Returns the prefix of a block's parameter names: "encoder.layers.0.self_attention". Decoder
// layers of a translation model have cross_attention between self_attention and feed_forward.
std::string block_name(const Config& config, schemes::Side side, int block);

inline constexpr const char* kSourceEmbedding = "source_embedding.weight";
inline constexpr const char* kTargetEmbedding = "target_embedding.weight";
inline constexpr const char* kOutputEmbedding = "output.weight";
inline constexpr const char* kOutputBias = "output.bias";  // if Config::has_output_bias()
// If Config::has_bert_ends(): a norm of the embedded input; a linear layer, whose activation and
// norm precede the output embedding.
inline constexpr const char* kEmbeddingNorm = "embedding_norm";
inline constexpr const char* kHead = "head";
inline constexpr const char* kHeadNorm = "head_norm";

// The names of the three matrices; shared matrices have one name.
std::string source_embedding(const Config& config);
std::string target_embedding(const Config& config);
std::string output_embedding(const Config& config);
// Of learned positions: [max_positions, width].
std::string position_embedding(schemes::Side side);

// Returns whether a parameter is a matrix used in products, not only for lookup.
bool is_multiplied(const Parameter& parameter, const Config& config);

// Returns all parameters in a fixed order: embeddings, then for each stack its learned positions,
// its blocks bottom to top and the scheme's parameters; BERT's ends, and the output bias last.
// REQUIRES: check(config) passed and vocabularies are known.
std::vector<Parameter> parameters(const Config& config);
int64_t parameter_count(const Config& config);

// Draws the initial values that the scheme prescribes. They depend only on the parameter's name,
// its distribution and the seed: schemes with the same distribution start from the same blocks.
void initialise(const Parameter& parameter, const Config& config, uint64_t seed,
                std::span<float> values);

}  // namespace residual::model
