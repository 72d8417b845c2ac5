#pragma once

#include <string>
#include <vector>

#include "nn/batch.h"
#include "probe/trace.h"
#include "run/config.h"
#include "train/observer.h"

namespace residual::probe {

// Cheap measurements of a stack during training.
struct LiveStack {
  Side side = Side::encoder;
  std::vector<double> gradients;  // norm of each block's parameter gradient, of the update's batch
  std::vector<double> changes;    // mean |x_{k+1} - x_k| of normalised rows, of a few sentences
};

// By the thresholds of the run's report (review/findings.h).
bool vanishes(const LiveStack& stack);
bool collapses(const LiveStack& stack);

// The observer of `residual train --probe every=N`. After every N-th update it writes a line of
// kind "probe" to the run's metrics and warns when a stack begins to vanish or to collapse.
// Gradients cost nothing extra; changes cost one forward pass over at most kLiveTokens tokens and a
// sixteenth of a training batch: about 2 % of an update at N = 1, and 1/N of that otherwise.
class LiveProbe final : public train::Observer {
 public:
  static constexpr int64_t kLiveTokens = 128;

  // Probes on the first sentences of the dev corpus, or of the training batches if there is none.
  LiveProbe(const run::TrainConfig& config, int64_t every);

  std::string option() const override;
  int64_t every() const override { return every_; }
  void updated(int64_t update, const train::Learner& learner, run::RunLog& log) override;

 private:
  std::vector<LiveStack> measure(const train::Learner& learner) const;

  int64_t every_;
  nn::ModelBatch batch_;
  std::vector<std::string> troubles_;  // problems that were reported and persist
};

}  // namespace residual::probe
