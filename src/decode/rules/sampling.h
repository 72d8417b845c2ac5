#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/rules/outlook.h"

namespace residual::decode {

// Sampling: `beam` independent draws of a translation. Each token is drawn with probability
//
//   q(y) ~ p(y)^(1 / temperature) for y in V',   0 elsewhere
//
// where V' is the k likeliest tokens (top-k: Fan et al. 2018), the fewest of them that hold the
// share p of the probability (top-p, the nucleus: Holtzman et al. 2020), or all tokens. Scores
// remain the model's own: log p(y). One object per thread.
class Sampler {
 public:
  explicit Sampler(int64_t vocabulary) : vocabulary_(vocabulary) {}

  // Draws the next token of every translation. The random numbers are a function of the seed, the
  // source and the token's place alone.
  void sample(Outlook& outlook, Candidates& candidates);

  // One token drawn by `uniform`, a random number in [0, 1); </s> if all are forbidden. Overwrites
  // the logits.
  TokenChoice draw(float* logits, const Sampling& sampling, std::span<const int32_t> forbidden,
                   double unk_penalty, double uniform);

 private:
  int64_t vocabulary_;
  std::vector<float> row_;
  std::vector<TokenChoice> choices_;
};

}  // namespace residual::decode
