#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "report/report.h"
#include "study/plan.h"

// What a run says about itself: its curves, and whether it converged.
namespace residual::study {

struct ProbeLine {
  int64_t update = 0;
  // By stack, then block, bottom to top.
  std::vector<std::string> sides;
  std::vector<std::vector<double>> gradients, changes;
};

// metrics.jsonl and speed.jsonl of a run directory; of what is not there, nothing.
struct Record {
  report::Series train, dev;  // nll in bits per target token over updates
  std::vector<ProbeLine> probes;
  int64_t updates = 0;     // the latest that is recorded
  double seconds = 0;      // of training, all sessions
  bool nonfinite = false;  // it stopped at a number that is not finite
  int64_t best = -1;       // update of the best model; -1: there is none
};
Record read_record(const fs::path& run);

// The entropy, in bits, of the target tokens of the dev corpora, each with its </s>, as if they
// were drawn one by one: what the best model that looks neither at the source nor at the words
// before would reach there.
double unigram_entropy(const fs::path& corpus);

// A run has converged if the model that is scored is better on the dev corpora than any that
// ignores all context.
struct Verdict {
  bool converged = false;
  std::string reason;  // if not: for people
  double dev_nll = 0;  // of the model that is scored, of a mean's last; NaN: not known
};
Verdict judge(const Record& record, ScoredWeights model, double unigram);

}  // namespace residual::study
