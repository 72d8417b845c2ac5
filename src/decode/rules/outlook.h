#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/ensemble.h"
#include "decode/rules/choose.h"
#include "decode/rules/hypothesis_tree.h"
#include "decode/rules/sentence.h"

namespace residual::decode {

// What the models say about the next token of one sentence's hypotheses, under the sentence's
// restrictions. Rules of search see the models through an Outlook alone. `h` is an index among the
// sentence's live hypotheses.
class Outlook {
 public:
  Outlook(Ensemble& models, const HypothesisTree& tree)
      : models_(models), tree_(tree), chooser_(models.vocabulary(), 0) {}

  // What the models are to be asked about a sentence.
  static Ensemble::Query query(const Sentence& sentence);
  // REQUIRES: the models have answered query(sentence). paths [rows, stride] are all hypotheses'
  // nodes, as Step::slots.
  void turn_to(const Sentence& sentence, const int32_t* paths, int64_t stride);

  const Sentence& sentence() const { return *sentence_; }
  const SearchOptions& options() const { return sentence_->options(); }
  int hypotheses() const { return static_cast<int>(sentence_->live.size()); }
  double score(int h) const { return tree_[sentence_->live[h].node].score; }

  // The log-probability of a token. REQUIRES: of a summarised sentence, the token that was asked.
  TokenChoice given(int h, int32_t token) const;
  // Twice as many tokens as the beam is wide, likeliest first, without forbidden ones: enough for
  // one group, even if all other groups' tokens cost too much. Then those of `also` that are not
  // among them. Valid until the next call.
  std::span<const TokenChoice> likeliest(int h, std::span<const int32_t> also = {});
  // Tokens that must not come next. Valid until the next call.
  std::span<const int32_t> forbidden(int h);
  // All logits of a hypothesis. REQUIRES: the sentence is not summarised.
  std::span<const float> logits(int h) const;

 private:
  Ensemble& models_;
  const HypothesisTree& tree_;
  const Sentence* sentence_ = nullptr;
  const int32_t* paths_ = nullptr;
  int64_t stride_ = 0;
  Chooser chooser_;
  std::vector<int32_t> forbidden_;
};

}  // namespace residual::decode
