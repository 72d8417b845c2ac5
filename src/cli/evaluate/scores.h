#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/language_pair.h"
#include "metrics/report.h"

// What `residual evaluate` prints of translations.
namespace residual::cli {

struct Work {
  uint64_t sentences = 0, source_tokens = 0, tokens = 0;  // tokens with </s>
  double seconds = 0;
};

struct TestScores {
  data::LanguagePair languages;
  Work work;
  std::vector<metrics::ScoreReport> reports;
};

// The scores of a single test set as `residual score` prints them, and the speed.
std::string one_direction(const TestScores& scores, double load_seconds,
                          const metrics::ReportOptions& options);

// A line for each direction, and the means over directions from English, to English, between other
// languages, and over all of them, as in table 4 of the ResiDual paper.
std::string all_directions(const std::vector<TestScores>& scores, double load_seconds,
                           const metrics::ReportOptions& options);

}  // namespace residual::cli
