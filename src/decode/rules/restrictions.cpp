#include "decode/rules/restrictions.h"

#include <algorithm>

#include "text/vocabulary.h"

namespace residual::decode {
namespace {

using text::Vocabulary;

class NoPadding final : public Restriction {
 public:
  bool needs_whole_rows() const override { return false; }
  void forbid(const Past& /*past*/, std::vector<int32_t>& tokens) const override {
    tokens.push_back(Vocabulary::kPad);
  }
};

class MinLength final : public Restriction {
 public:
  explicit MinLength(int64_t length) : length_(length) {}
  bool needs_whole_rows() const override { return false; }
  void forbid(const Past& past, std::vector<int32_t>& tokens) const override {
    if (past.length < length_) tokens.push_back(Vocabulary::kEos);
  }

 private:
  int64_t length_;
};

// No end before all phrases are there. A phrase's next token may be anywhere in a row.
class AllPhrases final : public Restriction {
 public:
  explicit AllPhrases(const Phrases& phrases) : phrases_(phrases) {}
  bool needs_whole_rows() const override { return true; }
  void forbid(const Past& past, std::vector<int32_t>& tokens) const override {
    if (!phrases_.are_met(past.phrases)) tokens.push_back(Vocabulary::kEos);
  }

 private:
  const Phrases& phrases_;
};

class NoUnk final : public Restriction {
 public:
  bool needs_whole_rows() const override { return false; }
  void forbid(const Past& /*past*/, std::vector<int32_t>& tokens) const override {
    tokens.push_back(Vocabulary::kUnk);
  }
};

// A reward (a negative penalty) may lift <unk> from any place in the row.
class UnkPenalty final : public Restriction {
 public:
  explicit UnkPenalty(double penalty) : penalty_(penalty) {}
  bool needs_whole_rows() const override { return penalty_ < 0; }
  double unk_penalty() const override { return penalty_; }

 private:
  double penalty_;
};

// No n tokens in a row come twice: forbids each token that followed an earlier occurrence of the
// last n - 1 tokens. The number of such tokens has no bound, so no summary has enough to spare.
class NoRepeatNgram final : public Restriction {
 public:
  explicit NoRepeatNgram(int64_t n) : n_(n) {}
  bool needs_whole_rows() const override { return true; }
  void forbid(const Past& past, std::vector<int32_t>& tokens) const override {
    for (int64_t end = n_ - 1; end < past.length; ++end) {
      bool is_repeat = true;
      for (int64_t back = 1; back < n_ && is_repeat; ++back) {
        is_repeat = past[end - back] == past[past.length - back];
      }
      if (is_repeat) tokens.push_back(past[end]);
    }
  }

 private:
  int64_t n_;
};

// Keskar et al. 2019 (CTRL), with Hugging Face's rule for negative logits. A token that occurs
// several times counts once.
class RepetitionPenalty final : public Restriction {
 public:
  explicit RepetitionPenalty(double penalty) : penalty_(static_cast<float>(penalty)) {}
  bool needs_whole_rows() const override { return true; }
  void change(const Past& past, float* logits) const override {
    std::vector<int32_t> said;
    for (int64_t i = 0; i < past.length; ++i) said.push_back(past[i]);
    std::ranges::sort(said);
    said.erase(std::unique(said.begin(), said.end()), said.end());
    for (const int32_t token : said) {
      logits[token] = logits[token] > 0 ? logits[token] / penalty_ : logits[token] * penalty_;
    }
  }

 private:
  float penalty_;
};

}  // namespace

Restrictions::Restrictions(const SearchOptions& o, bool never_unk, const Phrases* phrases,
                           int64_t prompt) {
  all_.push_back(std::make_unique<NoPadding>());
  if (o.min_length > 0) all_.push_back(std::make_unique<MinLength>(prompt + o.min_length));
  if (phrases != nullptr) all_.push_back(std::make_unique<AllPhrases>(*phrases));
  if (o.forbid_unk || never_unk) all_.push_back(std::make_unique<NoUnk>());
  if (o.unk_penalty != 0) all_.push_back(std::make_unique<UnkPenalty>(o.unk_penalty));
  if (o.no_repeat_ngram > 0) all_.push_back(std::make_unique<NoRepeatNgram>(o.no_repeat_ngram));
  if (o.repetition_penalty != 1) {
    all_.push_back(std::make_unique<RepetitionPenalty>(o.repetition_penalty));
  }
  for (const auto& each : all_) unk_penalty_ += each->unk_penalty();
}

bool Restrictions::need_whole_rows() const {
  return std::ranges::any_of(all_, [](const auto& each) { return each->needs_whole_rows(); });
}

void Restrictions::change(const Past& past, float* logits) const {
  for (const auto& each : all_) each->change(past, logits);
}

void Restrictions::forbid(const Past& past, std::vector<int32_t>& tokens) const {
  for (const auto& each : all_) each->forbid(past, tokens);
}

int64_t longest_translation(const Request& request, int64_t max_positions) {
  const SearchOptions& o = *request.search;
  const double begun = request.is_text() ? static_cast<double>(request.prefix.size()) : 0;
  const double wanted = o.max_length_factor * static_cast<double>(request.source.size()) +
                        o.max_length_offset + begun;
  const auto possible = static_cast<double>(max_positions - 1);
  const int64_t phrases = request.phrases ? request.phrases->tokens() : 0;
  return std::max(static_cast<int64_t>(std::min(wanted, possible)),
                  static_cast<int64_t>(request.prefix.size()) + phrases);
}

}  // namespace residual::decode
