#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "decode/engine.h"

namespace residual::decode {

// One model at work in one thread, or several that share their vocabularies and decide together by
// the mean of their probabilities.
class Ensemble {
 public:
  explicit Ensemble(const std::vector<std::shared_ptr<const Weights>>& models);

  int64_t vocabulary() const { return engines_[0].weights().config().target_vocabulary; }
  int64_t max_positions() const { return max_positions_; }    // the least of all
  int64_t decoder_layers() const { return decoder_layers_; }  // likewise
  std::span<const Engine> engines() const { return engines_; }

  // What each model makes of each sentence, as Engine::encode: by sentence, then by model.
  std::vector<std::vector<Memory>> encode(std::span<const std::span<const int32_t>> sources,
                                          Team* team);

  // As Step::Sentence, for all models.
  struct Sentence {
    const std::vector<Memory>* memories;
    int rows;
  };
  // Decodes rows. `step` is without its sentences and its attention: `attention_from_top` says
  // which layer's is wanted, -1 none.
  void decode(Step step, std::span<const Sentence> sentences, int attention_from_top, Team* team);
  void release_large() {  // as Engine::release_large
    for (auto& engine : engines_) engine.release_large();
  }
  // Makes the logits of `count` rows of the last step, from `first` on. `change` may change each
  // model's logits [count, vocabulary] before they become probabilities.
  using Change = std::function<void(float* logits)>;
  void project(int64_t first, int64_t count, const Change& change, Team* team);

  // As Engine::summarise, of the last step's rows. REQUIRES: there is one model.
  void summarise(int64_t first, std::span<kernels::RowSummary> rows, Team* team);
  // Among some symbols alone, by the model's Weights::output_of() of them. REQUIRES: likewise.
  void summarise(const PackedMatrix& output, int64_t first, std::span<kernels::RowSummary> rows,
                 Team* team);

  // Of a row that was projected last. Logits of one model; of several, logarithms of the mean
  // probability. They may be written to.
  float* logits(int64_t row) { return logits_.data() + (row - first_row_) * vocabulary(); }
  const float* attention(int64_t row) const { return attention_.data() + row * attention_stride_; }

 private:
  void average_attention(size_t m, int64_t rows);

  std::vector<Engine> engines_;
  int64_t max_positions_, decoder_layers_;
  std::vector<Step::Sentence> groups_;              // of one model
  std::vector<Rows> hidden_;                        // the last step's, by model
  std::vector<float> logits_, other_logits_;        // [rows, vocabulary] from first_row_ on
  std::vector<float> attention_, other_attention_;  // [rows, attention_stride_]
  int64_t first_row_ = 0, attention_stride_ = 0;
};

}  // namespace residual::decode
