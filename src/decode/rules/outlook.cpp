#include "decode/rules/outlook.h"

#include "text/vocabulary.h"

namespace residual::decode {

Ensemble::Query Outlook::query(const Sentence& s) {
  static_assert(2 * kWidestBeam + Chooser::kSpare <= OutputLayer::kMostBest);
  if (!s.is_summarised) return {};
  // Summaries are asked for one token beside the best: the prefix's next, or else </s>, which may
  // be needed where all hypotheses end.
  return {.best = 2 * s.options().beam + Chooser::kSpare,
          .asked = s.is_in_prefix() ? s.request.prefix[s.length] : text::Vocabulary::kEos,
          .output = s.output.get(),
          .symbols = s.request.symbols};
}

void Outlook::turn_to(const Sentence& sentence, const int32_t* paths, int64_t stride) {
  sentence_ = &sentence;
  paths_ = paths;
  stride_ = stride;
  chooser_.set_unk_penalty(sentence.restrictions.unk_penalty());
}

TokenChoice Outlook::given(int h, int32_t token) const {
  const int64_t row = sentence_->first_row + h;
  return sentence_->is_summarised ? chooser_.given(models_.summary(row))
                                  : chooser_.given(models_.logits(row), token);
}

std::span<const TokenChoice> Outlook::likeliest(int h, std::span<const int32_t> also) {
  const int64_t most = 2 * options().beam;
  const int64_t row = sentence_->first_row + h;
  return sentence_->is_summarised
             ? chooser_.likeliest(models_.summary(row), most, forbidden(h))
             : chooser_.likeliest(models_.logits(row), most, forbidden(h), also);
}

std::span<const int32_t> Outlook::forbidden(int h) {
  const Sentence& s = *sentence_;
  forbidden_.clear();
  s.restrictions.forbid({.tree = tree_,
                         .path = paths_ + (s.first_row + h) * stride_ + 1,  // after the root
                         .length = s.length,
                         .phrases = s.live[h].phrases},
                        forbidden_);
  return forbidden_;
}

std::span<const float> Outlook::logits(int h) const {
  return {models_.logits(sentence_->first_row + h), static_cast<size_t>(models_.vocabulary())};
}

}  // namespace residual::decode
