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
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  // What computes may use the stack below its pointer, where a signal would leave its frame.
  alignas(64) static char stack[1 << 16];
  const stack_t aside{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  ::sigaltstack(&aside, nullptr);
  ::sigaction(SIGINT, &action, &before_interrupt);
  ::sigaction(SIGTERM, &action, &before_terminate);
}

StopSignals::~StopSignals() {
  ::sigaction(SIGINT, &before_interrupt, nullptr);
  ::sigaction(SIGTERM, &before_terminate, nullptr);
}

int StopSignals::received() const { return received_signal; }

}  // namespace residual::train
