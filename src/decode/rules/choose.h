#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/options.h"
#include "kernels/vocabulary.h"

namespace residual::decode {

struct TokenChoice {
  int32_t token;
  float log_probability;  // less unk_penalty, for <unk>
};

// Fails if the sum of a row's probabilities is not a number.
void require_number(float normaliser);

// Chooses next tokens from rows of logits. Forbidden tokens keep their share of the probability, as
// in fairseq: what is left is not normalised again. One object per thread.
class Chooser {
 public:
  Chooser(int64_t vocabulary, double unk_penalty)
      : vocabulary_(vocabulary), unk_penalty_(static_cast<float>(unk_penalty)) {}
  void set_unk_penalty(double penalty) { unk_penalty_ = static_cast<float>(penalty); }

  // The k likeliest tokens, likeliest first; fewer if there are not so many. Then those of `also`
  // that are not among them. May overwrite the logits of forbidden tokens. An Error if a logit is
  // not a number.
  std::span<const TokenChoice> likeliest(float* logits, int64_t k,
                                         std::span<const int32_t> forbidden,
                                         std::span<const int32_t> also = {});

  // The same of a row of which `row` knows at least the k + kSpare best. REQUIRES: no more tokens
  // than kSpare are forbidden, <unk> counted if it has a penalty, which is not negative.
  static constexpr int64_t kSpare = 3;
  std::span<const TokenChoice> likeliest(const kernels::RowSummary& row, int64_t k,
                                         std::span<const int32_t> forbidden);

  // The log-probability of one token.
  TokenChoice given(const float* logits, int32_t token) const;
  TokenChoice given(const kernels::RowSummary& row) const;  // the one that was asked for

 private:
  // Those of the best that are allowed, at most k.
  std::span<const TokenChoice> allowed(std::span<const kernels::Scored> best, float normaliser,
                                       int64_t k, std::span<const int32_t> forbidden);
  float penalty(int32_t token) const;

  int64_t vocabulary_;
  float unk_penalty_;
  std::vector<kernels::Scored> best_;
  std::vector<TokenChoice> choices_;
};

}  // namespace residual::decode
