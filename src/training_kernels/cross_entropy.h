#pragma once

#include <cstdint>

#include "training_kernels/bf16.h"

namespace residual::kernels {

// Label-smoothed cross entropy of rows of logits. The gradient overwrites the logits, or is rounded
// to `gradient` if there is one; the logits are then lost.
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
  float* logits = nullptr;   // [rows, symbols]
  Bf16* gradient = nullptr;  // [rows, symbols]
};
struct CrossEntropySums {
  double loss = 0, nll = 0;
};
CrossEntropySums cross_entropy(const CrossEntropy& p);

}  // namespace residual::kernels
