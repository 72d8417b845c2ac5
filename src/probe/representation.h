#pragma once

#include <vector>

#include "probe/streams.h"

namespace residual::probe {

// How far blocks move what the next one sees, by pairs of neighbours: element k is about the
// inputs of blocks k and k + 1. Means over all elements.
struct Representation {
  std::vector<double> change;                   // |x_{k+1} - x_k|, as blocks see them
  std::vector<double> normalised_change;        // of rows of mean 0 and variance 1 (figure 2b)
  std::vector<double> cosine;                   // of x_k and x_{k+1}
  std::vector<std::vector<double>> similarity;  // cosine of x_j and x_k, all pairs
};

Representation measure_representation(const std::vector<Tensor>& inputs);

// Only the second of them.
std::vector<double> normalised_changes(const std::vector<Tensor>& inputs);

// Mean |y - y'| where y' is the stack's output without its last 1, 2, ... layers; the last element
// is about the bare embedding (corollaries 3.5 and 3.7).
std::vector<double> output_changes(const nn::Parameters& parameters, const StackTrace& trace);

// What theorems 3.3 and 3.6 have in common: if x_k and the branch are independent and Gaussian and
// the branch has the share s of the sum's variance, the normalised stream moves by
// N(0, 2 - 2 sqrt(1 - s)). Pre-LN's share is 1/k (3.3), Post-LN's sigma^2 / (1 + sigma^2) (3.6).
double expected_change(double share);

}  // namespace residual::probe
