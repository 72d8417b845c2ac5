#include "data/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace residual::data {

double Temperature::at(int64_t epoch) const {
  if (epoch > annealing_epochs) return end;
  return start +
         (end - start) * static_cast<double>(epoch - 1) / static_cast<double>(annealing_epochs);
}

std::vector<int64_t> quotas(std::span<const int64_t> sizes, double temperature) {
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  std::vector<double> share(sizes.size());
  // Relative to the largest: n^(1/T) itself would overflow for a small T.
  const double largest = static_cast<double>(*std::max_element(sizes.begin(), sizes.end()));
  std::transform(sizes.begin(), sizes.end(), share.begin(), [&](int64_t n) {
    return std::pow(static_cast<double>(n) / largest, 1 / temperature);
  });
  const double sum = std::accumulate(share.begin(), share.end(), 0.0);
  std::vector<int64_t> quota(sizes.size());
  int64_t missing = total;
  for (size_t i = 0; i < share.size(); ++i) {
    share[i] *= static_cast<double>(total) / sum;
    quota[i] = static_cast<int64_t>(share[i]);
    share[i] -= static_cast<double>(quota[i]);
    missing -= quota[i];
  }
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return share[a] > share[b]; });
  for (size_t k = 0; missing > 0; --missing, ++k) ++quota[order[k % order.size()]];
  return quota;
}

std::vector<int64_t> quotas_before(std::span<const int64_t> sizes, const Temperature& temperature,
                                   int64_t epoch) {
  std::vector<int64_t> sum(sizes.size());
  const auto add = [&](double t, int64_t times) {
    const std::vector<int64_t> quota = quotas(sizes, t);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += times * quota[i];
  };
  const int64_t annealing = std::min(epoch - 1, temperature.annealing_epochs);
  for (int64_t e = 1; e <= annealing; ++e) add(temperature.at(e), 1);
  if (epoch - 1 > annealing) add(temperature.end, epoch - 1 - annealing);
  return sum;
}

}  // namespace residual::data
