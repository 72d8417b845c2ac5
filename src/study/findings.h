#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/evaluate.h"
#include "study/outcome.h"
#include "study/work.h"

// What a study has found so far, cell by cell and over seeds.
namespace residual::study {

struct Finding {
  Work work;
  std::optional<Result> result;   // nothing: not done yet
  Record record;                  // as far as it is
  std::optional<double> p_value;  // of the difference in BLEU from the baseline's; both converged
  double gain = 0;                // that difference
};

struct Findings {
  Plan plan;
  fs::path output;
  std::vector<Finding> cells;
};

// Reads what DIR holds. p values come from the paired bootstrap over the sentences of all test
// sets, against the baseline's run with the same depth, schedule and seed.
Findings gather(const Plan& plan, const std::vector<Work>& work, const fs::path& output);

// One place of the grid, over its seeds.
struct GridPlace {
  size_t scheme, depth, schedule;
};
struct Summary {
  int done = 0, failed = 0;  // seeds
  int scored = 0;            // that converged and have such a test set
  double mean = 0;           // BLEU of those that converged
  double deviation = 0;      // its sample standard deviation; 0 for one
  // Of all test sets together, so of their mean only: the largest over seeds; 1 if they contradict
  // each other or none differs.
  std::optional<double> p_value;
};
// `test` is a test set's name, kFromEnglish, kToEnglish, or empty for the mean over all. Of a test
// set that the study does not score nothing is known, not even that a run failed.
Summary summarise(const Findings& findings, const GridPlace& place, const std::string& test = "");

// "35.37", "35.37 ± 0.12", "Fail", "35.37 (1 of 3 failed)"; an asterisk where p < 0.05; "–" where
// nothing is known.
std::string text_of(const Summary& summary);

}  // namespace residual::study
