#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

// Measurements by turns: every candidate runs once in each round, so that a disturbance of the
// machine affects all alike, and ratios are formed within a round. Nothing is reported from a
// machine that was disturbed.
namespace residual::bench {

struct Sample {
  double wall = 0, cpu = 0;  // seconds; cpu: of all threads of the process
};

template <class Work>
Sample measure(const Work& work) {
  const auto cpu = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double cpu_before = cpu();
  const auto before = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;
  return {wall.count(), cpu() - cpu_before};
}

// The value at a share of the sorted values, interpolated.
inline double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(place);
  const size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - std::floor(place)) * (values[high] - values[low]);
}
inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }

// The distance between the quartiles as a share of the median.
inline double spread(const std::vector<double>& values) {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values);
}

constexpr double kMostSpread = 0.1;

// A thread that should have computed for the whole time did not have a core for more than an eighth
// of it: another process did, or the work is not divided evenly.
inline bool disturbed(const Sample& s, int threads) { return s.wall * threads > 1.125 * s.cpu; }

// The samples of one candidate, one for each round.
struct Series {
  int threads = 1;
  std::vector<Sample> samples;

  std::vector<double> walls() const {
    std::vector<double> all;
    for (const Sample& s : samples) all.push_back(s.wall);
    return all;
  }
  double wall() const { return median(walls()); }
  double cpu() const {
    std::vector<double> all;
    for (const Sample& s : samples) all.push_back(s.cpu);
    return median(all);
  }
  int64_t disturbances() const {
    return std::ranges::count_if(samples, [&](const Sample& s) { return disturbed(s, threads); });
  }
};

// How many times as long `a` took as `b`: the median of the rounds in which both were undisturbed.
// No value if those are fewer than half the rounds or fewer than 3, or if their ratios scatter.
inline std::optional<double> ratio(const Series& a, const Series& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.samples.size(); ++i) {
    if (disturbed(a.samples[i], a.threads) || disturbed(b.samples[i], b.threads)) continue;
    ratios.push_back(a.samples[i].wall / b.samples[i].wall);
  }
  if (ratios.size() < 3 || 2 * ratios.size() < a.samples.size()) return std::nullopt;
  if (spread(ratios) > kMostSpread) return std::nullopt;
  return median(ratios);
}

}  // namespace residual::bench
