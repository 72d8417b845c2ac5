#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/evaluate.h"
#include "study/outcome.h"
#include "study/work.h"

// The results of a study so far, by cell and over seeds.
namespace residual::study {

struct Finding {
  Work work;
  std::optional<Result> result;   // empty: not finished
  Record record;                  // the run's metrics so far
  std::optional<double> p_value;  // of the BLEU difference from the baseline, if both converged
  double gain = 0;                // that difference
  std::string commit;             // of the program that trained the run
  bool is_known = false;          // trained elsewhere: there are no translations of the test sets
};

// A finished run of which only the line in a table is left (runs_csv.h).
struct KnownRun {
  std::string identity;
  std::string commit;
  Result result;
  Record record;  // dev curve, updates, seconds
};
using KnownRuns = std::map<std::string, KnownRun>;  // by name

// What a run was trained as: name, scheme, variant, layers, schedule, peak rate and seed, separated
// by commas.
std::string identity_of(const Plan& plan, const Cell& cell);

struct Findings {
  Plan plan;
  fs::path output;
  std::vector<Finding> cells;

  model::Kind kind() const { return cells.at(0).work.cell.config.model.kind; }
  bool is_translation() const { return kind() == model::Kind::translation; }
};

// Reads the results in DIR. p values come from the paired bootstrap over the sentences of all test
// sets, against the baseline's run with the same depth, schedule and seed. A run that DIR lacks is
// taken from `known`; a known run that was trained as something else is an error.
Findings gather(const Plan& plan, const std::vector<Work>& work, const fs::path& output,
                const KnownRuns& known = {});

// One place of the grid, summarised over its seeds.
struct GridPlace {
  size_t scheme, depth, schedule;
};
struct Summary {
  int done = 0, failed = 0;  // seeds
  int scored = 0;            // seeds that converged and have such a test set
  double mean = 0;           // mean BLEU of the scored seeds
  double deviation = 0;      // sample standard deviation of BLEU; 0 for one seed
  // The largest p value over seeds; 1 if seeds contradict each other or none differs. It is
  // computed over all test sets together, so it applies only to their mean.
  std::optional<double> p_value;
};
// `test` is a test set's name, kFromEnglish, kToEnglish, or empty for the mean over all. The
// summary of a test set that the study does not score is empty, even if a run failed.
Summary summarise(const Findings& findings, const GridPlace& place, const std::string& test = "");

// Formats a summary: "35.37", "35.37 ± 0.12", "Fail", "35.37 (1 of 3 failed)"; with an asterisk if
// p < 0.05; "–" for an empty summary.
std::string text_of(const Summary& summary);

}  // namespace residual::study
