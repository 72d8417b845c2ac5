#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"
#include "data/batcher.h"
#include "run/config.h"

namespace residual::run {

// Sums since the last line of metrics.jsonl.
struct Sums {
  int64_t updates = 0;
  int64_t tokens = 0;  // predicted tokens
  int64_t source_tokens = 0;
  int64_t sentences = 0;
  double loss = 0;  // natural logarithms
  double nll = 0;
  double gradient_norm = 0;

  void add(const Sums& other);
};

struct BestValidation {
  int64_t update = 0;
  double value = 0;
};

// The state of a run besides parameters and moments. It is a pure function of configuration,
// corpus and the number of updates, so it does not reveal whether the run was interrupted.
struct State {
  std::string corpus;            // fingerprint of the training corpora
  std::string dev_corpus;        // fingerprint of the dev corpora
  int64_t update = 0;            // completed updates
  data::BatchPosition position;  // of the next batch
  Sums sums;
  double learning_rate_factor = 1;  // set by train.on_nonfinite = lower
  int64_t skipped = 0;              // updates skipped because they were not finite
  int64_t skipped_in_a_row = 0;
  double loss_scale = 1;
  int64_t good_updates = 0;  // since the loss scale last changed
  int64_t validated = -1;    // update of the latest validation
  int64_t validations_without_gain = 0;
  int64_t metrics_bytes = 0;         // length of metrics.jsonl
  std::vector<BestValidation> best;  // best first; keeps at least one
  std::vector<int64_t> epoch_ends;   // updates of the latest checkpoints at an epoch's end
};
void fields(ConfigVisitor& visit, State& state);

int64_t epoch_of(const State& state);  // epoch of the last update
// Returns a message about the limit that the run has already passed, or "".
std::string passed_limit(const RunConfig& limits, const State& state);

}  // namespace residual::run
