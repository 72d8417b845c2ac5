#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/config.h"
#include "schemes/init.h"

// Names, shapes and first values of a model's parameters. Training, decoding, import and export
// all take them from here.
namespace residual::model {

// Matrices that are always multiplied together are one: rows [0, d) of a self-attention's qkv are
// its queries', then come keys' and values'.
struct Part {
  schemes::Role role;
  int64_t rows;
};

struct Parameter {
  std::string name;
  std::vector<int64_t> shape;
  schemes::Side side = schemes::Side::encoder;  // whose stack, or whose embedding
  int block = -1;                               // of that stack; -1: not a block's
  std::vector<Part> parts;                      // top to bottom; none: a scheme's own parameter
  int64_t inputs = 0;                           // fan-in of the matrix, also for its bias
  double value = 0;                             // what a scheme's parameter starts as

  int64_t size() const;
};

// "encoder.layers.0.self_attention": what the names of a block's parameters begin with. Decoder
// layers of a translation model have cross_attention between self_attention and feed_forward.
std::string block_name(const Config& config, schemes::Side side, int block);

inline constexpr const char* kSourceEmbedding = "source_embedding.weight";
inline constexpr const char* kTargetEmbedding = "target_embedding.weight";
inline constexpr const char* kOutputEmbedding = "output.weight";
inline constexpr const char* kOutputBias = "output.bias";  // if Config::has_output_bias()

// The names under which the three matrices are found; shared ones have one name.
std::string source_embedding(const Config& config);
std::string target_embedding(const Config& config);
std::string output_embedding(const Config& config);

// A matrix that products take, not one that is only looked up.
bool is_multiplied(const Parameter& parameter, const Config& config);

// All of them in a fixed order, embeddings first, blocks bottom to top, each stack's scheme last;
// the output's bias after all.
// REQUIRES: check(config) passed and vocabularies are known.
std::vector<Parameter> parameters(const Config& config);
int64_t parameter_count(const Config& config);

// Draws the first values as the scheme wants them. A parameter's values depend on its name, its
// law and the seed only: schemes with the same law start from the same blocks.
void initialise(const Parameter& parameter, const Config& config, uint64_t seed,
                std::span<float> values);

}  // namespace residual::model
