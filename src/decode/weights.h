#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decode/rows.h"
#include "kernels/matrix.h"
#include "model/directory.h"
#include "schemes/scheme.h"

namespace residual::decode {

using kernels::PackedMatrix;
using kernels::Precision;

// One parameter as its owner keeps it: float32, perhaps packed, or int8 with a scale per row.
struct Values {
  std::span<const float> numbers;
  std::span<const float> panels;  // a PackedMatrix's
  std::span<const int8_t> quantized;
  std::span<const float> scales;
  bool is_mapped = false;  // in a file: its pages may be dropped and read again

  bool is_quantized() const { return !quantized.empty(); }
};

// A matrix of embeddings, one row per symbol. With int8 the rows are those of the quantised
// matrix, whether a file holds them so or they are rounded here, row by row as they are asked for.
class EmbeddingTable {
 public:
  EmbeddingTable() = default;
  EmbeddingTable(const Values& values, int64_t width, Precision precision);
  // Rows of a matrix that products need anyway; it may be filled later.
  EmbeddingTable(const PackedMatrix& shared, int64_t width) : shared_(&shared), width_(width) {}

  // y_i = sqrt(width) * E[ids[i]] + positions[places[i]]. REQUIRES: ids and places exist.
  void embed(std::span<const int32_t> ids, std::span<const int32_t> places, const float* positions,
             float* y) const;

 private:
  // Where row `id` is: in the table, or now in `room`.
  const float* row(int32_t id, float* room) const;

  const PackedMatrix* shared_ = nullptr;
  Values values_;
  int64_t width_ = 0;
  bool rounded_ = false;
};

struct SelfAttentionWeights {
  PackedMatrix qkv, output;
};
struct CrossAttentionWeights {
  PackedMatrix query, key, value, output;
};
struct FeedForwardWeights {
  PackedMatrix inner, outer;
};
struct LayerWeights {
  SelfAttentionWeights self;
  CrossAttentionWeights cross;  // of decoder layers
  FeedForwardWeights feed_forward;
};
struct StackWeights {
  EmbeddingTable embedding;
  std::vector<LayerWeights> layers;
  std::unique_ptr<schemes::Scheme<RowArithmetic>> scheme;
};

// A translation model ready to run: matrices packed for products, the scheme bound to its
// parameters. Immutable; any number of threads may use one.
class Weights {
 public:
  // `find` gives a parameter by its name in model/parameters.h; what it gives is copied but for
  // embeddings and panels, which `owner` keeps alive. Matrices that are int8 already stay so,
  // whatever the precision.
  using Find = std::function<Values(const std::string& name)>;
  Weights(const model::Config& config, const Find& find, Precision precision,
          std::shared_ptr<const void> owner);
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  const model::Config& config() const { return config_; }
  const StackWeights& encoder() const { return encoder_; }
  const StackWeights& decoder() const { return decoder_; }
  const PackedMatrix& output() const { return output_; }

 private:
  class Packer;

  model::Config config_;
  StackWeights encoder_, decoder_;
  PackedMatrix output_;  // what a shared EmbeddingTable points to
  std::deque<std::vector<float>> scheme_parameters_;
  std::shared_ptr<const void> owner_;
};

// From a model's directory: pages of its file are dropped again once packed.
std::shared_ptr<const Weights> load_weights(std::shared_ptr<const model::Directory> directory,
                                            Precision precision);

// From memory, all of it copied: training may go on.
std::shared_ptr<const Weights> copy_weights(
    const model::Config& config, const std::map<std::string, std::span<const float>>& parameters,
    Precision precision);

}  // namespace residual::decode
