#pragma once

#include <cstdint>

namespace residual::kernels {

// Label-smoothed cross entropy of rows of logits. The gradient overwrites the logits.
//
// With log p = logits - log sum exp logits, a row of target t costs
//
//   loss = -gold log p_t - each sum_v log p_v      nll = -log p_t
//
// and its logits become (gold + V each) p_v - each - gold [v = t].
struct CrossEntropy {
  int64_t rows = 0, symbols = 0;
  float gold = 1, each = 0;
  const int64_t* targets = nullptr;
  float* logits = nullptr;  // [rows, symbols]
};
struct CrossEntropySums {
  double loss = 0, nll = 0;
};
CrossEntropySums cross_entropy(const CrossEntropy& p);

}  // namespace residual::kernels
