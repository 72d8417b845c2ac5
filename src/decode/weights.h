#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "decode/output_layer.h"
#include "decode/rows.h"
#include "decode/values.h"
#include "kernels/matrix.h"
#include "model/directory.h"
#include "schemes/scheme.h"

namespace residual::decode {

// A matrix of embeddings, one row per symbol. With float16 and int8 the rows are those of the
// rounded matrix, whether a file holds them so or they are rounded here, row by row as they are
// asked for.
class EmbeddingTable {
 public:
  EmbeddingTable() = default;
  EmbeddingTable(const Values& values, int64_t width, Precision precision);
  // Rows of a matrix that products need anyway; it may be filled later.
  EmbeddingTable(const PackedMatrix& shared, int64_t width) : shared_(&shared), width_(width) {}

  // y_i = factor * E[ids[i]] + positions[places[i]], the latter if there are `positions`. REQUIRES:
  // ids and places exist.
  void embed(std::span<const int32_t> ids, std::span<const int32_t> places, const float* positions,
             float factor, float* y) const;
  void copy_row(int32_t id, float* to) const;

 private:
  // Where row `id` is: in the table, or now in `room`.
  const float* row(int32_t id, float* room) const;

  const PackedMatrix* shared_ = nullptr;
  Values values_;
  int64_t width_ = 0;
  Precision precision_ = Precision::float32;
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
  CrossAttentionWeights cross;  // of a translation model's decoder
  FeedForwardWeights feed_forward;
};
struct StackWeights {
  EmbeddingTable embedding;
  EmbeddingTable positions;  // if they are learned
  std::vector<LayerWeights> layers;
  std::unique_ptr<schemes::Scheme<RowArithmetic>> scheme;
};

// Of the file that weights are in: what throws an Error if it is damaged, and what hears, unless it
// is null, of weights that products have read.
struct FileCheck {
  std::function<void()> result = [] {};
  PackedMatrix::Listener read = nullptr;
};

// What BERT has around its stack.
struct BertEnds {
  kernels::Norm embedding_norm, head_norm;
  PackedMatrix head;
};

// A model of any kind, ready to run: matrices for products, the scheme bound to its parameters. Any
// number of threads may use one.
class Weights {
 public:
  // `find` gives a parameter by its name in model/parameters.h; what it gives is copied but for
  // embeddings (input and output) and panels, which `owner` keeps alive. Matrices that are float16
  // or int8 stay so whatever the precision, but for float16 ones if it is int8. Matrices are packed
  // by the first pack() if all of them are in a file as products can take them, float32 or int8,
  // and until then used from there; at once if not.
  // `check` is called for its result before the numbers are copied; numbers that are used where
  // they are may be used before.
  using Find = std::function<Values(const std::string& name)>;
  Weights(model::Config config, Find find, Precision precision, std::shared_ptr<const void> owner,
          FileCheck check = {});
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  // Makes products with many rows fast, in about the time of a dozen decoding steps of one
  // sentence. Changes no bit of any result. From any thread, while others use the weights.
  void pack() const;

  // Throws an Error if the file of the weights is damaged. A result may be handed out only after
  // this has returned once.
  void check() const { check_.result(); }

  const model::Config& config() const { return config_; }
  const StackWeights& encoder() const { return now().encoder; }
  const StackWeights& decoder() const { return now().decoder; }
  const OutputLayer& output_layer() const { return output_; }
  // Those of a model with Config::has_bert_ends().
  const BertEnds& bert_ends() const { return now().ends; }

 private:
  class Packer;
  struct Stacks {
    StackWeights encoder, decoder;
    BertEnds ends;
  };

  const Stacks& now() const {
    return is_packed_.load(std::memory_order_acquire) ? packed_ : unpacked_;
  }
  void bind(Packer& packer, Stacks& stacks, PackedMatrix& output) const;
  std::span<const float> copied(const std::string& name) const;  // numbers that are no matrix

  model::Config config_;
  Precision precision_;
  mutable Find find_;  // until packed
  FileCheck check_;
  std::shared_ptr<const void> owner_;
  OutputLayer output_;
  // Both stay: a thread may be using the first when the second is ready.
  Stacks unpacked_;
  mutable Stacks packed_;
  mutable std::atomic<bool> is_packed_ = false;
  mutable std::once_flag packing_;
  mutable std::deque<std::vector<float>> scheme_parameters_;
};

// From a model's directory: pages of its file are dropped again once packed. An Error, which names
// the commands that would do, if the model is of another kind than `kind`.
std::shared_ptr<const Weights> load_weights(std::shared_ptr<const model::Directory> directory,
                                            Precision precision,
                                            model::Kind kind = model::Kind::translation);

// From memory, all of it copied: training may go on.
std::shared_ptr<const Weights> copy_weights(
    const model::Config& config, const std::map<std::string, std::span<const float>>& parameters,
    Precision precision);

}  // namespace residual::decode
