#include "train/signals.h"

#include <unistd.h>

namespace residual::train {
namespace {

volatile std::sig_atomic_t received_signal = 0;
struct sigaction before_interrupt, before_terminate;

void handle(int signal) {
  if (received_signal != 0) ::_exit(128 + signal);
  received_signal = signal;
}

}  // namespace

StopSignals::StopSignals() : idle_([this] { end_.acquire(); }) {
  received_signal = 0;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &before_interrupt);
  ::sigaction(SIGTERM, &action, &before_terminate);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, &blocked_before_);
}

StopSignals::~StopSignals() {
  ::pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
  ::sigaction(SIGINT, &before_interrupt, nullptr);
  ::sigaction(SIGTERM, &before_terminate, nullptr);
  end_.release();
  idle_.join();
}

int StopSignals::received() const { return received_signal; }

}  // namespace residual::train
