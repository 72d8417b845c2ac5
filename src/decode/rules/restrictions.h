#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "decode/options.h"
#include "decode/request.h"
#include "decode/rules/hypothesis_tree.h"
#include "decode/rules/phrases.h"

namespace residual::decode {

// The tokens of a hypothesis, without the start symbol.
struct Past {
  const HypothesisTree& tree;
  const int32_t* path;  // nodes
  int64_t length;
  const Phrases::Progress& phrases;

  int32_t operator[](int64_t i) const { return tree[path[i]].token; }
};

// One restriction on the next token of a hypothesis.
class Restriction {
 public:
  virtual ~Restriction() = default;
  // False: Chooser::kSpare more symbols than the search wants are enough to know of a row, so that
  // the output layer need not write all logits.
  virtual bool needs_whole_rows() const = 0;
  // Changes logits before they become probabilities.
  virtual void change(const Past& /*past*/, float* /*logits*/) const {}
  // Appends tokens that must not come next. They keep their share of the probability.
  virtual void forbid(const Past& /*past*/, std::vector<int32_t>& /*tokens*/) const {}
  // Subtracted from the log-probability of <unk>.
  virtual double unk_penalty() const { return 0; }
};

// All restrictions of one sentence.
class Restrictions {
 public:
  Restrictions() = default;
  // `never_unk`: the model never predicts <unk>. `phrases` may be null.
  // `prompt`: tokens of a hypothesis that its least length does not count.
  Restrictions(const SearchOptions& options, bool never_unk, const Phrases* phrases,
               int64_t prompt = 0);

  bool need_whole_rows() const;
  void change(const Past& past, float* logits) const;
  void forbid(const Past& past, std::vector<int32_t>& tokens) const;
  double unk_penalty() const { return unk_penalty_; }

 private:
  std::vector<std::unique_ptr<const Restriction>> all_;
  double unk_penalty_ = 0;
};

// The most tokens before </s>: what the options say, but no more positions than the model has, and
// no fewer than prefix and phrases take.
int64_t longest_translation(const Request& request, int64_t max_positions);

}  // namespace residual::decode
