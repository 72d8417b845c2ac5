#include "metrics/significance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "metrics/numpy_random.h"

namespace residual::metrics {
namespace {

// Random numbers are drawn in order, for this many trials at a time; the trials then run on all
// threads.
constexpr int64_t kTrialsAtOnce = 64;

// NumPy's order of summation (pairwise over blocks of 128, eight running sums in each), in its
// precision: a mean compared with '>' must round as there.
template <class Real>
Real pairwise_sum(std::span<const Real> values) {
  const size_t n = values.size();
  if (n < 8) {
    Real sum = 0;
    for (const Real value : values) sum += value;
    return sum;
  }
  if (n <= 128) {
    Real part[8];
    std::copy_n(values.begin(), 8, part);
    size_t i = 8;
    for (; i + 8 <= n; i += 8) {
      for (size_t k = 0; k < 8; ++k) part[k] += values[i + k];
    }
    Real sum =
        ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (; i < n; ++i) sum += values[i];
    return sum;
  }
  const size_t half = n / 2 - n / 2 % 8;
  return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
}

template <class Real>
Real mean(const std::vector<Real>& values) {
  return pairwise_sum<Real>(values) / static_cast<Real>(values.size());
}

template <class Real>
Interval interval_of(const std::vector<double>& sorted, Averaging averaging) {
  const std::vector<Real> scores(sorted.begin(), sorted.end());
  const auto count = static_cast<long double>(scores.size());
  const Real centre =
      averaging == Averaging::numpy
          ? mean(scores)
          : static_cast<Real>(std::accumulate(sorted.begin(), sorted.end(), 0.0L) / count);
  const size_t tail = scores.size() / 40;
  const Real width = scores[scores.size() - tail - 1] - scores[tail];
  return {static_cast<double>(centre), static_cast<double>(Real(0.5) * width)};
}

// The plus ones keep the test's level exact with few trials.
double p_value(int64_t as_extreme, size_t trials) {
  return static_cast<double>(as_extreme + 1) / static_cast<double>(trials + 1);
}

// How often chance alone, the bootstrap's spread around its own mean, exceeds the difference.
template <class Real>
double bootstrap_p(const std::vector<double>& baseline, const std::vector<double>& system,
                   double difference) {
  std::vector<Real> spread(baseline.size());
  for (size_t i = 0; i < spread.size(); ++i) {
    spread[i] = std::abs(static_cast<Real>(system[i]) - static_cast<Real>(baseline[i]));
  }
  const Real centre = mean(spread);
  const auto extreme = std::count_if(spread.begin(), spread.end(), [&](Real value) {
    return value - centre > static_cast<Real>(difference);
  });
  return p_value(extreme, spread.size());
}

// How often a random exchange of the two systems' translations makes a larger difference.
double randomisation_p(const Metric& metric, const Statistics& baseline, const Statistics& system,
                       double difference, int64_t trials, uint64_t seed) {
  const size_t rows = baseline.rows(), width = baseline.width();
  NumpyRandom random(seed);
  std::vector<uint64_t> bits;
  uint64_t first_bit =
      0;  // of bits[0], in the endless stream; trial t has bits [t*rows, (t+1)*rows)
  std::vector<uint8_t> extreme(static_cast<size_t>(trials));
  for (int64_t start = 0; start < trials; start += kTrialsAtOnce) {
    const int64_t count = std::min(kTrialsAtOnce, trials - start);
    const uint64_t begin = static_cast<uint64_t>(start) * rows;
    const uint64_t end = begin + static_cast<uint64_t>(count) * rows;
    const size_t used = (begin - first_bit) / 64;  // a word shared with the trial before is kept
    bits.erase(bits.begin(), bits.begin() + static_cast<ptrdiff_t>(used));
    first_bit += used * 64;
    while (first_bit + bits.size() * 64 < end) bits.push_back(random.bits());
    parallel_for(count, 1, [&](int64_t trial, int64_t /*end*/) {
      std::vector<double> a(width), b(width);
      uint64_t at = begin + static_cast<uint64_t>(trial) * rows - first_bit;
      for (size_t i = 0; i < rows; ++i, ++at) {
        const bool keep = (bits[at / 64] >> (at % 64) & 1) != 0;
        const auto to_a = (keep ? baseline : system).row(i);
        const auto to_b = (keep ? system : baseline).row(i);
        for (size_t k = 0; k < width; ++k) {
          a[k] += to_a[k];
          b[k] += to_b[k];
        }
      }
      extreme[static_cast<size_t>(start + trial)] =
          std::abs(metric.score(std::span<const double>(a)) -
                   metric.score(std::span<const double>(b))) > difference;
    });
  }
  return p_value(std::count(extreme.begin(), extreme.end(), 1), extreme.size());
}

}  // namespace

std::vector<double> bootstrap_scores(const Metric& metric, const Statistics& statistics,
                                     int64_t samples, uint64_t seed) {
  const size_t rows = statistics.rows(), width = statistics.width();
  require(rows > 0 && rows < UINT32_MAX, "cannot resample {} sentences", rows);
  std::vector<float> values(rows * width);
  for (size_t i = 0; i < rows; ++i) {
    std::copy_n(statistics.row(i).begin(), width,
                values.begin() + static_cast<ptrdiff_t>(i * width));
  }
  NumpyRandom random(seed);
  std::vector<uint32_t> drawn(rows * static_cast<size_t>(std::min(kTrialsAtOnce, samples)));
  std::vector<double> scores(static_cast<size_t>(samples));
  for (int64_t start = 0; start < samples; start += kTrialsAtOnce) {
    const int64_t count = std::min(kTrialsAtOnce, samples - start);
    random.choose(static_cast<uint32_t>(rows),
                  std::span(drawn).first(rows * static_cast<size_t>(count)));
    parallel_for(count, 1, [&](int64_t sample, int64_t /*end*/) {
      std::vector<float> sums(width);
      for (const uint32_t row :
           std::span(drawn).subspan(static_cast<size_t>(sample) * rows, rows)) {
        for (size_t k = 0; k < width; ++k) sums[k] += values[row * width + k];
      }
      scores[static_cast<size_t>(start + sample)] = metric.score(std::span<const float>(sums));
    });
  }
  return scores;
}

Interval confidence_interval(std::vector<double> scores, bool in_float, Averaging averaging) {
  require(!scores.empty(), "a confidence interval needs at least one sample");
  std::sort(scores.begin(), scores.end());
  return in_float ? interval_of<float>(scores, averaging) : interval_of<double>(scores, averaging);
}

std::vector<Result> paired_test(PairedTest test, const Metric& metric,
                                const std::vector<Statistics>& systems, int64_t trials,
                                uint64_t seed) {
  const bool in_float = metric.scores_in_float();
  std::vector<Result> results;
  std::vector<double> baseline;
  for (const Statistics& system : systems) {
    Result result{.score = metric.score(system.sum())};
    const double difference = results.empty() ? 0 : std::abs(results.front().score - result.score);
    if (test == PairedTest::bootstrap) {
      const auto scores = bootstrap_scores(metric, system, trials, seed);
      const Interval interval = confidence_interval(scores, in_float, Averaging::numpy);
      result.mean = interval.mean;
      result.half_interval = interval.half_width;
      if (results.empty()) {
        baseline = scores;
      } else {
        result.p_value = in_float ? bootstrap_p<float>(baseline, scores, difference)
                                  : bootstrap_p<double>(baseline, scores, difference);
      }
    } else if (!results.empty()) {
      result.p_value = randomisation_p(metric, systems.front(), system, difference, trials, seed);
    }
    results.push_back(result);
  }
  return results;
}

}  // namespace residual::metrics
