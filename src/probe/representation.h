#pragma once

#include <vector>

#include "probe/streams.h"

namespace residual::probe {

// The change that a block makes to the next block's input, by pairs of neighbours: element k
// compares the inputs of blocks k and k + 1. Values are means over all elements.
struct Representation {
  std::vector<double> change;                   // |x_{k+1} - x_k|, as blocks see them
  std::vector<double> normalised_change;        // for rows of mean 0 and variance 1 (figure 2b)
  std::vector<double> cosine;                   // of x_k and x_{k+1}
  std::vector<std::vector<double>> similarity;  // cosine of x_j and x_k, all pairs
};

Representation measure_representation(const std::vector<Tensor>& inputs);

// Computes only normalised_change.
std::vector<double> normalised_changes(const std::vector<Tensor>& inputs);

// Returns the mean |y - y'|, where y' is the stack's output without its last 1, 2, ... layers; for
// the last element, y' is the bare embedding (corollaries 3.5 and 3.7).
std::vector<double> output_changes(const nn::Parameters& parameters, const StackTrace& trace);

// The common part of theorems 3.3 and 3.6: if x_k and the branch are independent and Gaussian and
// the branch has the share s of the sum's variance, the normalised stream changes by
// N(0, 2 - 2 sqrt(1 - s)). Pre-LN's share is 1/k (3.3), Post-LN's sigma^2 / (1 + sigma^2) (3.6).
double expected_change(double share);

}  // namespace residual::probe
