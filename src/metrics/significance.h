#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/metric.h"

// Significance of score differences: Koehn 2004 (bootstrap) and Riezler and Maxwell 2005
// (approximate randomisation), with the draws and the arithmetic of sacreBLEU, so that the figures
// agree. Everything works on sentence statistics; no text is read again.
namespace residual::metrics {

inline constexpr uint64_t kDefaultSeed = 12345;  // sacreBLEU's

// A system's score and its resampling results.
struct Result {
  double score = 0;
  std::optional<double> p_value;              // of its difference from the baseline
  std::optional<double> mean, half_interval;  // of bootstrap scores; half the 95 % interval
};

// Returns the scores of `samples` test sets drawn from the rows with replacement.
std::vector<double> bootstrap_scores(const Metric& metric, const Statistics& statistics,
                                     int64_t samples, uint64_t seed);

// The mean and half the distance between the 2.5th and 97.5th percentile.
struct Interval {
  double mean, half_width;
};
// sacreBLEU averages like NumPy in paired tests, exactly elsewhere.
enum class Averaging { numpy, exact };
Interval confidence_interval(std::vector<double> scores, bool in_float, Averaging averaging);

enum class PairedTest { bootstrap, randomisation };

// Compares each system with the first, the baseline. REQUIRES: all systems have the same number of
// rows.
std::vector<Result> paired_test(PairedTest test, const Metric& metric,
                                const std::vector<Statistics>& systems, int64_t trials,
                                uint64_t seed);

}  // namespace residual::metrics
