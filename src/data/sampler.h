#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace residual::data {

// Temperature of a mixture of corpora: corpus i gives a share proportional to n_i^(1/T) of the
// pairs. 1 keeps the corpora's own proportions, 5 is usual for 100 languages, infinity gives all
// the same. It moves linearly from `start` in epoch 1 to `end` in epoch 1 + annealing_epochs.
struct Temperature {
  double start = 1;
  double end = 1;
  int64_t annealing_epochs = 0;

  double at(int64_t epoch) const;
};

// How many pairs of each corpus an epoch takes: as many in total as the corpora have, in
// proportion to n_i^(1/T), rounded by largest remainder. Exact shares, not draws: the mixture of
// an epoch has no noise, and where any epoch begins is known without replaying those before it.
std::vector<int64_t> quotas(std::span<const int64_t> sizes, double temperature);

// Pairs of each corpus that the epochs before `epoch` took.
std::vector<int64_t> quotas_before(std::span<const int64_t> sizes, const Temperature& temperature,
                                   int64_t epoch);

}  // namespace residual::data
