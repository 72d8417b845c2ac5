#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/pages.h"
#include "decode/rows.h"
#include "decode/team.h"
#include "decode/weights.h"
#include "kernels/attention.h"
#include "kernels/vocabulary.h"

namespace residual::decode {

// What the decoder sees of one encoded sentence: keys and values of every layer's cross-attention.
// Copies share them.
class Memory {
 public:
  int positions() const { return positions_; }
  // As kernels::SharedAttention takes them.
  const float* layer(int l) const { return first_layer_ + l * layer_stride_; }

 private:
  friend class Engine;
  std::shared_ptr<const std::vector<float>> owner_;
  const float* first_layer_ = nullptr;
  int64_t layer_stride_ = 0;
  int positions_ = 0;
};

// Rows for the decoder. Each is one token of one hypothesis and sees the tokens before it: by
// their slots in the cache of keys and values, where its own will be written to the last one.
// All rows are written before any is read, so that consecutive tokens of one target may be decoded
// in one step (teacher forcing) as well as one by one.
struct Step {
  struct Sentence {
    const Memory* memory;
    int rows;
  };
  std::span<const int32_t> tokens;     // [rows]
  std::span<const int32_t> positions;  // [rows]: tokens that each row sees, itself included
  const int32_t* slots = nullptr;      // [rows, slot_stride]
  int64_t slot_stride = 0;
  int32_t slot_count = 0;               // all slots are less than this
  std::span<const Sentence> sentences;  // rows of one sentence stand together, in this order
  // If not null, [rows, attention_stride]: each row's attention to its source in this layer, as
  // the mean of the heads.
  float* attention = nullptr;
  int64_t attention_stride = 0;
  int attention_layer = 0;
};

// One model at work in one thread: scratch memory and the cache of keys and values around shared
// weights. Every method takes the team that shares its products, or null. A row's result does not
// depend on the other rows, bit for bit.
class Engine {
 public:
  explicit Engine(std::shared_ptr<const Weights> weights);

  const Weights& weights() const { return *weights_; }

  // Encodes sentences, each ending in </s>. REQUIRES: none is empty or longer than max_positions,
  // and all ids exist. A language model has no encoder: it gives a memory of nothing for each.
  std::vector<Memory> encode(std::span<const std::span<const int32_t>> sources, Team* team);
  // The decoder stack's output for each row.
  Rows decode(const Step& step, Team* team);
  // logits [count, vocabulary] of rows [first, first + count).
  void project(const Rows& hidden, int64_t first, int64_t count, float* logits, Team* team) const;
  // What is asked of the logits of rows from `first` on, as OutputLayer::summarise.
  void summarise(const Rows& hidden, int64_t first, std::span<kernels::RowSummary> rows,
                 Team* team);
  // The same as if the vocabulary were the rows of `output` alone, which is of the output's.
  void summarise(const PackedMatrix& output, const Rows& hidden, int64_t first,
                 std::span<kernels::RowSummary> rows, Team* team);

  // Gives the cache back if it has grown beyond what ordinary searches need, so that one wide and
  // long search does not hold it for good. What was in it is lost.
  void release_large();
  size_t cache_bytes() const { return cache_.size(); }

  // The encoder's output, before it becomes keys and values: [all tokens, width].
  Rows encode_rows(std::span<const std::span<const int32_t>> sources, Team* team);
  // The rows of a masked model from which logits are made: those of the encoder, or of its head.
  Rows predictors(const Rows& encoded, Team* team);

 private:
  class EncoderBlocks;
  class DecoderBlocks;

  // `next`: the matrix of the next product, if known.
  Rows product(const PackedMatrix& matrix, const Rows& x, Team* team,
               const PackedMatrix* next = nullptr);
  Rows feed_forward(const FeedForwardWeights& weights, const Rows& x, Team* team,
                    const PackedMatrix* next = nullptr);
  float* wide(int64_t rows, int64_t columns);
  const PackedMatrix* first_product() const;  // of a step
  // The embeddings of places 0 ... count - 1; null if they are rotations, which are then known.
  const float* positions(schemes::Side side, int64_t count);
  void embed(schemes::Side side, std::span<const int32_t> ids, std::span<const int32_t> places,
             float* x);
  const StackWeights& stack(schemes::Side side) const {
    return side == schemes::Side::encoder ? weights_->encoder() : weights_->decoder();
  }
  // Rotates the queries and keys of each row by its place, if positions are rotations.
  void rotate(std::span<const int32_t> places, float* qkv, int64_t stride) const;
  int64_t kv_width() const { return int64_t{heads_.keys()} * heads_.width; }
  std::shared_ptr<std::vector<float>> memory_buffer(int64_t size);

  std::shared_ptr<const Weights> weights_;
  kernels::Heads heads_;
  float scale_;  // of attention scores
  std::unique_ptr<RowPool> pool_;
  OutputLayer::Scratch scratch_;          // its wide: qkv or a feed-forward's inner layer
  std::vector<float> shared_;             // keys and values of one sentence
  std::vector<float> probabilities_;      // of one sentence's attention
  std::vector<int32_t> places_;           // of each row in its sentence
  std::vector<float> positions_;          // those seen so far: [places, width or head width]
  std::vector<float> decoder_positions_;  // the decoder's own, if positions are learned
  Pages cache_;                           // [slots][layers][heads][key, value] of float
  int64_t cache_stride_;
  std::vector<std::shared_ptr<std::vector<float>>> buffers_;  // for Memory, used again
};

}  // namespace residual::decode
