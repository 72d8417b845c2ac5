#pragma once

#include <cstdint>
#include <limits>

// The decoder's functions of rows of logits, each in one pass over memory.
namespace residual::kernels {

// Returns log sum_i exp(x_i). NaN if any x_i is; -inf if all are.
float log_sum_exp(const float* x, int64_t count);

// Sets y_i = x_i - log_sum_exp(x) for each row of [rows, count]. y may be x.
void log_softmax(const float* x, int64_t rows, int64_t count, float* y);

// Sets y_i = log((1 - share) e^(y_i) + share e^(x_i)), for logarithms of probabilities.
void mix(float share, const float* x, int64_t count, float* y);

struct Scored {
  float value;
  int32_t index;
};

// The summary of a row that arrives in parts: log sum_i exp(x_i), its k largest elements in
// descending order, equal ones by ascending index, and one requested element. The result does not
// depend on how the row is cut, bit for bit.
struct RowSummary {
  static constexpr int64_t kPart = 512;  // every part but the last is a multiple of this

  // REQUIRES: k <= kMostBest, and `best` has room for k elements.
  int k = 0;
  Scored* best = nullptr;
  Scored asked = {};  // set its index to request an element

  void add(const float* x, int64_t count);
  // Returns NaN if any element is NaN; the best are then in range but meaningless. -inf if all are.
  float log_sum_exp() const;

  int found = 0;  // number of best elements: k, or all if there are fewer
  int64_t seen = 0;
  float most = std::numeric_limits<float>::lowest();  // finite, so that -inf - most is -inf
  double sum = 0;                                     // of exp(x_i - most)
};
constexpr int kMostBest = 128;

// The same for a whole row: writes the best elements and returns log_sum_exp(x).
float best_of_row(const float* x, int64_t count, int k, Scored* best);

}  // namespace residual::kernels
