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

  int64_t vocabulary() const { return engines_[0].weights().config().output_vocabulary(); }
  int64_t max_positions() const { return max_positions_; }    // the least of all
  int64_t decoder_layers() const { return decoder_layers_; }  // likewise
  std::span<const Engine> engines() const { return engines_; }

  // What each model makes of each sentence, as Engine::encode: by sentence, then by model.
  std::vector<std::vector<Memory>> encode(std::span<const std::span<const int32_t>> sources,
                                          Team* team);

  // What is asked of the logits of one sentence's rows.
  struct Query {
    int64_t best = 0;   // so many of the likeliest symbols, as summaries; 0: whole rows of logits
    int32_t asked = 0;  // with summaries: the symbol whose logit is given as well
    // With summaries: the only symbols that there are, and their OutputLayer::selected(). Null:
    // all.
    const PackedMatrix* output = nullptr;
    std::span<const int32_t> symbols = {};
  };
  // As Step::Sentence, for all models.
  struct Sentence {
    const std::vector<Memory>* memories;
    int rows;
    Query query;
  };
  struct Listener {
    // May change a model's logits of the sentence's n-th row before they become probabilities.
    std::function<void(size_t sentence, int n, float* logits)> change;
    // The sentence's summaries or logits are there, until it returns. In the sentences' order.
    std::function<void(size_t sentence)> answered;
  };
  // Decodes rows and answers each sentence's query. `step` is without its sentences and its
  // attention: `attention_from_top` says which layer's is wanted, -1 none. REQUIRES: with several
  // models, every query is for whole rows.
  void step(Step step, std::span<const Sentence> sentences, int attention_from_top,
            const Listener& listener, Team* team);
  // Decodes rows for their keys and values alone: the prompt of a language model.
  void read(const Step& step, Team* team) {
    for (auto& engine : engines_) engine.decode(step, team);
  }
  void release_large() {  // as Engine::release_large
    for (auto& engine : engines_) engine.release_large();
  }

  // For listeners, of a row of the sentence that is answered. Logits are those of one model; of
  // several, logarithms of the mean probability. They may be written to.
  const kernels::RowSummary& summary(int64_t row) const { return summaries_[row - first_row_]; }
  float* logits(int64_t row) { return logits_.data() + (row - first_row_) * vocabulary(); }
  const float* attention(int64_t row) const { return attention_.data() + row * attention_stride_; }

 private:
  void decode(Step& step, std::span<const Sentence> sentences, int attention_from_top, Team* team);
  void average_attention(size_t m, int64_t rows);
  void summarise(std::span<const Sentence> sentences, Team* team);
  // Logits of `count` rows from first_row_ on.
  using Change = std::function<void(float* logits)>;
  void project(int64_t count, const Change& change, Team* team);

  std::vector<Engine> engines_;
  int64_t max_positions_, decoder_layers_;
  std::vector<Step::Sentence> groups_;              // of one model
  std::vector<Rows> hidden_;                        // the last step's, by model
  std::vector<kernels::RowSummary> summaries_;      // of some rows, from first_row_ on
  std::vector<kernels::Scored> best_;               // of the summaries
  std::vector<float> logits_, other_logits_;        // [rows, vocabulary] from first_row_ on
  std::vector<float> attention_, other_attention_;  // [rows, attention_stride_]
  int64_t first_row_ = 0, attention_stride_ = 0;
};

}  // namespace residual::decode
