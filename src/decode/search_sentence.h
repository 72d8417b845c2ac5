#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "decode/search.h"

// What a Search knows of each sentence, and the ways in which its hypotheses may go on.
namespace residual::decode {

struct Search::Sentence {
  Request request;  // with its search
  bool is_summarised = false;
  std::shared_ptr<const PackedMatrix> output;  // of request.symbols; null: all are looked at
  std::vector<Memory> memories;                // by model
  int64_t max_length = 0;
  int64_t length = 0;     // tokens decoded so far
  int first_row = 0;      // of its hypotheses, in this step
  bool is_split = false;  // the first hypothesis has become several
  std::vector<Live> live;
  std::vector<Hypothesis> finished;
  std::vector<int64_t> ended;  // hypotheses of each group that are finished

  int64_t groups() const { return request.phrases ? 1 : options().groups(); }
  int64_t group_size() const { return options().beam / groups(); }
  int64_t group_of(int32_t draw) const { return groups() == 1 ? 0 : draw; }
  bool is_full(int64_t group) const { return ended[group] == group_size(); }

  const SearchOptions& options() const { return *request.search; }
  bool has_phrases(const Live& hypothesis) const {
    return !request.phrases || request.phrases->are_met(hypothesis.phrases);
  }
};

struct Search::Candidate {
  double score;
  int hypothesis;  // index among the sentence's live ones
  int rank;        // among that hypothesis's candidates; at last, among its rivals
  int32_t draw;    // or group
  Choice choice;
  int64_t phrase_tokens = 0;
  double likeness = 0;  // what it costs to be like those of the groups before
};

}  // namespace residual::decode
