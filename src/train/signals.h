#pragma once

namespace residual::train {

// SIGINT and SIGTERM ask the run to stop after the update it is in; the second one ends the
// process at once. One object at a time; what was installed before comes back after it.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int received() const;  // the signal's number, or 0
};

}  // namespace residual::train
