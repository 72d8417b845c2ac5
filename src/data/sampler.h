#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace residual::data {

// Temperature T of a mixture of corpora: corpus i gives a share proportional to n_i^(1/T) of the
// pairs. 1 keeps the proportions of the corpora, 5 is usual for 100 languages, infinity gives equal
// shares. T changes linearly from `start` in epoch 1 to `end` in epoch 1 + annealing_epochs.
struct Temperature {
  double start = 1;
  double end = 1;
  int64_t annealing_epochs = 0;

  double at(int64_t epoch) const;
};

// Returns the number of pairs that an epoch takes from each corpus: as many in total as the corpora
// have, in proportion to n_i^(1/T), rounded by largest remainder. These are exact shares, not
// draws: the mixture of an epoch has no noise, and the start of any epoch is known without
// replaying earlier ones.
std::vector<int64_t> quotas(std::span<const int64_t> sizes, double temperature);

// Returns the number of pairs that the epochs before `epoch` took from each corpus.
std::vector<int64_t> quotas_before(std::span<const int64_t> sizes, const Temperature& temperature,
                                   int64_t epoch);

}  // namespace residual::data
