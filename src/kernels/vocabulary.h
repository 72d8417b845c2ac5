#pragma once

#include <cstdint>
#include <limits>

// What a decoder asks of rows of logits, each in one pass over them.
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

// What is known of a row that comes in parts: log sum_i exp(x_i), its k largest elements in
// descending order, equal ones by ascending index, and one element that is asked for. How the row
// is cut changes no bit of them.
struct RowSummary {
  static constexpr int64_t kPart = 512;  // every part but the last is a multiple of this

  // REQUIRES: k <= kMostBest, and `best` has room for k elements.
  int k = 0;
  Scored* best = nullptr;
  Scored asked = {};  // its index is asked for

  void add(const float* x, int64_t count);
  // NaN if any element is, and then the best are in range but of no meaning; -inf if all are.
  float log_sum_exp() const;

  int found = 0;  // of the best: k, or all elements if they are fewer
  int64_t seen = 0;
  float most = std::numeric_limits<float>::lowest();  // finite, so that -inf - most is -inf
  double sum = 0;                                     // of exp(x_i - most)
};
constexpr int kMostBest = 128;

// The same of a whole row: gives the best, returns log_sum_exp(x).
float best_of_row(const float* x, int64_t count, int k, Scored* best);

}  // namespace residual::kernels
