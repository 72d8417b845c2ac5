#pragma once

#include <semaphore.h>

#include <csignal>
#include <thread>

namespace residual::run {

// SIGINT, SIGTERM and SIGHUP ask the run to stop after the update it is in; the second one ends the
// process at once. A SIGHUP that was ignored before (nohup) stays ignored, and SIGHUP never counts
// as one of the two, because a closing terminal may send several. Only one object may exist, made
// before the computing threads; the destructor restores the previous handlers.
//
// The thread that makes the object and the threads started after it block the signals, and an idle
// thread receives them. The reason: oneDNN's products may point the stack pointer into a heap
// buffer, and a handler's frame would overwrite the memory below it (docs/decisions.md).
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int received() const;  // number of the signal, or 0

 private:
  sem_t end_;  // not a std::binary_semaphore: ThreadSanitizer holds signals back while one waits
  std::thread idle_;
  sigset_t blocked_before_;
};

}  // namespace residual::run
