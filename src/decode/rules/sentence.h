#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "decode/engine.h"
#include "decode/options.h"
#include "decode/request.h"
#include "decode/rules/choose.h"
#include "decode/rules/restrictions.h"

namespace residual::decode {

struct Hypothesis {
  std::vector<int32_t> tokens;                // the last one is </s>
  std::vector<float> log_probabilities;       // of each token
  std::vector<std::vector<float>> attention;  // [tokens][source tokens], if wanted
  double coverage = 0;                        // its term of the score
  double score = 0;
};

// A hypothesis that has not ended.
struct Live {
  int32_t node;  // its last token in the HypothesisTree
  int32_t lane;  // its group of the beam, or, when sampling, its draw
  Phrases::Progress phrases = {};
};

// A live hypothesis with one token more, which the search may keep.
struct Candidate {
  double score;               // sum of log-probabilities
  int parent;                 // index among the sentence's live hypotheses
  int32_t lane;               // as Live::lane
  TokenChoice choice;         // the token
  int nth = 0;                // likeliest token of its parent, from 0
  double likeness = 0;        // cost of tokens that earlier groups have chosen; not in the score
  bool is_among_best = true;  // of its rivals; only such a candidate may end
};
using Candidates = std::vector<Candidate>;  // best first

// What a Search knows of one sentence.
struct Sentence {
  Request request;  // with its search
  Restrictions restrictions;
  bool is_summarised = false;                  // whole rows of logits are not needed
  std::shared_ptr<const PackedMatrix> output;  // of request.symbols; null: of all symbols
  std::vector<Memory> memories;                // by model
  int64_t max_length = 0;
  int64_t length = 0;     // tokens decoded so far
  int first_row = 0;      // of its hypotheses, in this step
  bool is_split = false;  // the first hypothesis has become several
  std::vector<Live> live;
  std::vector<Hypothesis> finished;
  std::vector<int64_t> ended;  // number of finished hypotheses, by group

  const SearchOptions& options() const { return *request.search; }
  int64_t groups() const { return request.phrases ? 1 : options().groups(); }
  int64_t group_size() const { return options().beam / groups(); }
  int64_t group_of(int32_t lane) const { return groups() == 1 ? 0 : lane; }
  bool is_full(int64_t group) const { return ended[group] == group_size(); }
  // Tokens that were read before the hypotheses begin: a language model's prompt.
  int64_t prompt() const { return request.is_text() ? request.read_tokens() : 0; }
  bool is_in_prefix() const { return length < static_cast<int64_t>(request.prefix.size()); }
};

}  // namespace residual::decode
