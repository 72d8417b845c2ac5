#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/metric.h"

// Is a difference in score more than chance? Koehn 2004 (bootstrap), Riezler and Maxwell 2005
// (approximate randomisation), with the draws and the arithmetic of sacreBLEU, so that its figures
// come out. All of it works on sentence statistics: no text is read again.
namespace residual::metrics {

inline constexpr uint64_t kDefaultSeed = 12345;  // sacreBLEU's

// A system's score, and what resampling says about it.
struct Result {
  double score = 0;
  std::optional<double> p_value;              // of its difference from the baseline
  std::optional<double> mean, half_interval;  // of bootstrap scores; half the 95 % interval
};

// Scores of `samples` test sets drawn from the rows with replacement.
std::vector<double> bootstrap_scores(const Metric& metric, const Statistics& statistics,
                                     int64_t samples, uint64_t seed);

// Mean and half the width between the 2.5th and 97.5th percentile.
struct Interval {
  double mean, half_width;
};
enum class Averaging { numpy, exact };  // sacreBLEU does one in paired tests, the other elsewhere
Interval confidence_interval(std::vector<double> scores, bool in_float, Averaging averaging);

enum class PairedTest { bootstrap, randomisation };

// Compares each system with the first, the baseline. REQUIRES: as many rows in each.
std::vector<Result> paired_test(PairedTest test, const Metric& metric,
                                const std::vector<Statistics>& systems, int64_t trials,
                                uint64_t seed);

}  // namespace residual::metrics
