#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "decode/choose.h"
#include "decode/ensemble.h"
#include "decode/hypothesis_tree.h"
#include "decode/options.h"
#include "decode/request.h"

namespace residual::decode {

struct Hypothesis {
  std::vector<int32_t> tokens;                // the last one is </s>
  std::vector<float> log_probabilities;       // of each token
  std::vector<std::vector<float>> attention;  // [tokens][source tokens], if wanted
  double coverage = 0;                        // its term of the score
  double score = 0;
};

// Finished hypotheses, best first; at most n_best, and none if they became unwanted.
using Done = std::function<void(uint64_t id, std::vector<Hypothesis> hypotheses)>;

// Beam search (or sampling) for any number of sentences at once, in one thread. Sentences may come
// and go at any step: each has its own number of tokens and takes rows for its live hypotheses
// only. What becomes of a sentence does not depend on its company, to the last bit.
class Search {
 public:
  Search(const std::vector<std::shared_ptr<const Weights>>& models, const SearchOptions& options);
  ~Search();

  // Encodes sentences; the next step() begins them. Throws what check_request() does.
  void add(std::vector<Request> requests, Team* team = nullptr);
  // One token more for every live hypothesis. Calls `done` for each sentence that ends.
  void step(const Done& done, Team* team = nullptr);

  int64_t sentences() const;
  int64_t source_tokens() const;  // of the live sentences
  int64_t beams() const;          // of the live sentences: rows that a step may have

 private:
  struct Sentence;
  struct Candidate;
  struct Live {
    int32_t node;
    int32_t draw;  // which of the independent draws, when sampling; otherwise which group
    Phrases::Progress phrases = {};
  };

  bool can_summarise(const SearchOptions& options) const;
  int64_t longest_translation(const Sentence& sentence) const;
  void begin_anew();  // REQUIRES: there are no sentences
  void decode_rows(Team* team);
  void advance_all(Team* team);
  void prepare_summaries(std::span<const Sentence> sentences);
  void summarise(std::span<const Sentence> sentences, Team* team);
  void summarise_some(const Sentence& sentence, Team* team);
  void advance(Sentence& sentence);
  void discourage_repetition(std::span<const Sentence> sentences, float* logits);
  Choice given(const Sentence& sentence, int row, int32_t token);
  // Each gives candidates_, best first, for one way of choosing tokens.
  void follow_prefix(Sentence& sentence);
  void end_all(Sentence& sentence);
  void sample(Sentence& sentence);
  void search(Sentence& sentence);
  void begin_alternatives(Sentence& sentence);
  void search_group(Sentence& sentence, int32_t group);
  std::span<const Choice> likeliest(const Sentence& sentence, int row);
  void order_by_phrases(const Sentence& sentence);
  std::span<const int32_t> forbidden(const Sentence& sentence, int row);
  void select(Sentence& sentence);
  void extend(Sentence& sentence, const Candidate& candidate);
  void finish(Sentence& sentence, const Candidate& candidate);
  static Hypothesis& worst(Sentence& sentence);  // of those that have ended
  bool has_ended(const Sentence& sentence) const;
  double best_possible(const Sentence& sentence) const;
  static std::vector<Hypothesis> take_best(Sentence& sentence);

  std::shared_ptr<const SearchOptions> options_;  // of sentences that have none of their own
  Ensemble models_;
  int32_t start_;  // what comes before the first token
  bool never_predicts_unk_;
  Chooser chooser_;
  HypothesisTree tree_;
  std::vector<std::vector<float>> node_attention_;  // by node, if wanted
  std::vector<Sentence> sentences_;

  // The rows of a step: hypotheses of the sentences in their order.
  std::vector<int32_t> tokens_, positions_;
  std::vector<int32_t> paths_, next_paths_;  // [rows, stride]: nodes from the root on
  int64_t path_stride_ = 64, next_path_stride_ = 64;
  int64_t rows_ = 0, next_rows_ = 0;
  std::vector<Ensemble::Sentence> groups_;

  // Either summaries of some rows of logits, from first_summary_ on, or whole ones in models_.
  std::vector<kernels::RowSummary> summaries_;
  std::vector<kernels::Scored> best_;  // of the summaries
  int64_t first_summary_ = 0;

  // What is known of one sentence while it advances.
  std::vector<Candidate> candidates_;  // best first
  std::vector<Live> parents_;          // its hypotheses before the step
  std::vector<int32_t> forbidden_, wanted_, said_;
  std::vector<int32_t> taken_;  // by groups of this sentence in this step
  std::vector<int64_t> room_;   // for hypotheses of each of its groups
  std::vector<float> drawn_;    // a copy of a row of logits
};

// All of them at once, in one thread; results in the order of the requests.
std::vector<std::vector<Hypothesis>> search_all(Search& search, std::vector<Request> requests,
                                                Team* team = nullptr);

}  // namespace residual::decode
