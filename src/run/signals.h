#pragma once

#include <csignal>
#include <semaphore>
#include <thread>

namespace residual::run {

// SIGINT, SIGTERM and SIGHUP ask the run to stop after the update it is in; the second one ends the
// process at once. SIGHUP is left alone where it was ignored before (nohup), and is neither the
// first nor the second of two: a terminal that is closed may send several. One object at a time,
// made before the threads that compute; what was installed before comes back after it.
//
// The thread that makes it and those started meanwhile block the signals, and an idle thread takes
// them: oneDNN's products may keep the stack pointer in a buffer of the heap, and a handler's frame
// would overwrite what lies before the buffer (docs/decisions.md).
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int received() const;  // the signal's number, or 0

 private:
  std::binary_semaphore end_{0};
  std::thread idle_;
  sigset_t blocked_before_;
};

}  // namespace residual::run
