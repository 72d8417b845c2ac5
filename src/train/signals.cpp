#include "train/signals.h"

#include <unistd.h>

#include <csignal>

namespace residual::train {
namespace {

volatile std::sig_atomic_t received_signal = 0;
struct sigaction before_interrupt, before_terminate;

void handle(int signal) {
  if (received_signal != 0) ::_exit(128 + signal);
  received_signal = signal;
}

}  // namespace

StopSignals::StopSignals() {
  received_signal = 0;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &before_interrupt);
  ::sigaction(SIGTERM, &action, &before_terminate);
}

StopSignals::~StopSignals() {
  ::sigaction(SIGINT, &before_interrupt, nullptr);
  ::sigaction(SIGTERM, &before_terminate, nullptr);
}

int StopSignals::received() const { return received_signal; }

}  // namespace residual::train
