#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "decode/ensemble.h"
#include "decode/options.h"
#include "decode/request.h"
#include "decode/rules/hypothesis_tree.h"
#include "decode/rules/outlook.h"
#include "decode/rules/sampling.h"
#include "decode/rules/sentence.h"

namespace residual::decode {

// Finished hypotheses, best first; at most n_best, and none if they became unwanted.
using Done = std::function<void(uint64_t id, std::vector<Hypothesis> hypotheses)>;

// Beam search (or sampling) for any number of sentences at once, in one thread. Sentences may come
// and go at any step: each has its own number of tokens and takes rows for its live hypotheses
// only. What becomes of a sentence does not depend on its company, to the last bit. How the next
// tokens are chosen is in one file for each rule: prefix.h, beam.h, diverse.h, alternatives.h,
// phrase_search.h, sampling.h; what they must not be, in restrictions.h.
class Search {
 public:
  Search(const std::vector<std::shared_ptr<const Weights>>& models, const SearchOptions& options);
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // Encodes sentences; the next step() begins them. Throws what check_request() does.
  void add(std::vector<Request> requests, Team* team = nullptr);
  // One token more for every live hypothesis. Calls `done` for each sentence that ends.
  void step(const Done& done, Team* team = nullptr);

  int64_t sentences() const { return static_cast<int64_t>(sentences_.size()); }
  // Of the live sentences: tokens read (sources or prompts), and rows that a step may have.
  int64_t source_tokens() const {
    return total([](const Sentence& s) { return s.request.read_tokens(); });
  }
  int64_t beams() const {
    return total([](const Sentence& s) { return s.options().beam; });
  }

 private:
  template <class Count>
  int64_t total(const Count& count) const {
    int64_t sum = 0;
    for (const auto& sentence : sentences_) sum += count(sentence);
    return sum;
  }
  void collect_rows();
  void advance(Sentence& sentence);
  void read_prompt(Sentence& sentence, Team* team);
  void widen_paths(int64_t stride);
  void report(const Sentence& sentence) const;
  void propose(Sentence& sentence);
  void end(const Sentence& sentence);
  void select(Sentence& sentence);
  void extend(Sentence& sentence, const Candidate& candidate);
  void finish(Sentence& sentence, const Candidate& candidate);
  const int32_t* path(const Sentence& sentence, int h) const {
    return paths_.data() + (sentence.first_row + h) * path_stride_;
  }
  void begin_anew();  // REQUIRES: there are no sentences

  std::shared_ptr<const SearchOptions> options_;  // of sentences that have none of their own
  Ensemble models_;
  HypothesisTree tree_;  // a node is also a slot of the models' caches
  Outlook outlook_;
  Sampler sampler_;
  std::vector<std::vector<float>> node_attention_;  // by node, if wanted
  std::vector<Sentence> sentences_;

  // The rows of a step: hypotheses of the sentences in their order.
  std::vector<int32_t> tokens_, positions_;
  std::vector<int32_t> paths_, next_paths_;  // [rows, stride]: nodes from the root on
  int64_t path_stride_ = 64, next_path_stride_ = 64;
  int64_t rows_ = 0, next_rows_ = 0;
  std::vector<Ensemble::Sentence> queries_;

  // Of the sentence that advances.
  Candidates candidates_;
  std::vector<Live> parents_;  // its hypotheses before the step
};

// All of them at once, in one thread; results in the order of the requests.
std::vector<std::vector<Hypothesis>> search_all(Search& search, std::vector<Request> requests,
                                                Team* team = nullptr);

}  // namespace residual::decode
