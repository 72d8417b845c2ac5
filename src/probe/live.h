#pragma once

#include <string>
#include <vector>

#include "nn/batch.h"
#include "probe/trace.h"
#include "run/config.h"
#include "train/observer.h"

namespace residual::probe {

// What can be known of a stack at little cost while it trains.
struct LiveStack {
  Side side = Side::encoder;
  std::vector<double> gradients;  // norm of each block's parameters, of the update's own batch
  std::vector<double> changes;    // mean |x_{k+1} - x_k|, rows normalised, of a few sentences
};

// A stack is said to vanish when the mean gradient norm of its lowest third of blocks is below
// this share of its highest third's ...
inline constexpr double kVanished = 1e-3;
// ... and to collapse when the mean change in its highest third of blocks is below this. Pre-LN's
// theorem 3.3 gets there at about 250 blocks.
inline constexpr double kCollapsed = 0.05;

bool vanishes(const LiveStack& stack);
bool collapses(const LiveStack& stack);

// `residual train --probe every=N`: after every N-th update writes a line of kind "probe" to the
// run's metrics and warns when a stack begins to vanish or to collapse. Gradients are there
// anyway; changes cost one forward pass over at most kLiveTokens tokens and a sixteenth of a
// training batch: about 2 % of an update at N = 1, and 1/N of that otherwise.
class LiveProbe final : public train::Observer {
 public:
  static constexpr int64_t kLiveTokens = 128;

  // Probes on the first sentences of the dev corpus, or of the training batches without one.
  LiveProbe(const run::TrainConfig& config, int64_t every);

  std::string option() const override;
  void updated(int64_t update, const train::Learner& learner, run::RunLog& log) override;

 private:
  std::vector<LiveStack> measure(const train::Learner& learner) const;

  int64_t every_;
  nn::Batch batch_;
  std::vector<std::string> troubles_;  // that were warned of and have not gone away
};

}  // namespace residual::probe
