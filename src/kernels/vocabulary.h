#pragma once

#include <cstdint>

// What a decoder asks of a row of logits, each in one pass over it.
namespace residual::kernels {

// log sum_i exp(x_i). NaN if any x_i is; -inf if all are.
float log_sum_exp(const float* x, int64_t count);

// y_i = x_i - log_sum_exp(x), for each row of [rows, count]. y may be x.
void log_softmax(const float* x, int64_t rows, int64_t count, float* y);

// y_i = log((1 - share) e^(y_i) + share e^(x_i)), for logarithms of probabilities.
void mix(float share, const float* x, int64_t count, float* y);

struct Scored {
  float value;
  int32_t index;
};

// The k largest elements in descending order, equal ones by ascending index; fewer if count < k.
// Returns log_sum_exp(x). If that is NaN, the elements found are in range but of no meaning.
// REQUIRES: 1 <= k <= kMostBest.
constexpr int kMostBest = 128;
float best_of_row(const float* x, int64_t count, int k, Scored* best);

}  // namespace residual::kernels
