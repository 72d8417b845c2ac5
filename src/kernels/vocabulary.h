#pragma once

#include <cstdint>

// What a decoder asks of a row of logits, each in one pass over it.
namespace residual::kernels {

// log sum_i exp(x_i). NaN if any x_i is; -inf if all are.
float log_sum_exp(const float* x, int64_t count);

// y_i = x_i - log_sum_exp(x), for each row of [rows, count]. y may be x.
void log_softmax(const float* x, int64_t rows, int64_t count, float* y);

struct Scored {
  float value;
  int32_t index;
};

// The k largest elements in descending order, equal ones by ascending index; fewer if count < k.
// Returns log_sum_exp(x). If that is NaN, the elements found are in range but of no meaning.
// REQUIRES: 1 <= k <= kMostBest.
constexpr int kMostBest = 128;
float best_of_row(const float* x, int64_t count, int k, Scored* best);

struct Candidate {
  float score;  // scores[row] + log probability of the token
  int32_t row;
  int32_t token;
};

// The k best continuations of the hypotheses of one sentence, in descending order of their score;
// equal ones by row, and within a row by logit, then token. logits is [rows, vocabulary],
// scores [rows] the hypotheses' log probabilities so far (-inf: a row that must not win).
// Returns how many there are: min(k, rows * vocabulary).
// A row's candidates are its k best tokens, so a caller that forbids m tokens asks for k + m.
int best_continuations(const float* logits, int64_t vocabulary, const float* scores, int rows,
                       int k, Candidate* best);

}  // namespace residual::kernels
