#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "report/report.h"
#include "study/plan.h"

// The outcome of a run: its curves, and whether it converged.
namespace residual::study {

struct ProbeLine {
  int64_t update = 0;
  // Values by stack, then block, bottom to top.
  std::vector<std::string> sides;
  std::vector<std::vector<double>> gradients, changes;
};

// The content of metrics.jsonl and speed.jsonl of a run directory; missing files give empty values.
struct Record {
  report::Series train, dev;  // nll in bits per target token over updates
  std::vector<ProbeLine> probes;
  int64_t updates = 0;     // the latest recorded update
  double seconds = 0;      // training time of all sessions
  bool nonfinite = false;  // the run stopped at a value that is not finite
  int64_t best = -1;       // update of the best model; -1: none
};
Record read_record(const fs::path& run);

// Returns the unigram entropy, in bits, of the target tokens of the dev corpora, </s> included. It
// is the loss of the best model that ignores both the source and the preceding words.
double unigram_entropy(const fs::path& corpus);

// A run has converged if the scored model is better on the dev corpora than any model that ignores
// all context.
struct Verdict {
  bool converged = false;
  std::string reason;  // message, if it has not converged
  double dev_nll = 0;  // of the scored model, or of the last one of a mean; NaN: unknown
};
Verdict judge(const Record& record, ScoredWeights model, double unigram);

}  // namespace residual::study
