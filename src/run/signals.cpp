#include "run/signals.h"

#include <unistd.h>

#include <iterator>

namespace residual::run {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t received_signal = 0;
struct sigaction actions_before[std::size(kSignals)];

void handle(int signal) {
  const bool is_first = received_signal == 0;
  if (!is_first && signal == SIGHUP) return;
  if (!is_first && received_signal != SIGHUP) ::_exit(128 + signal);
  received_signal = signal;
}

}  // namespace

StopSignals::StopSignals() {
  ::sem_init(&end_, 0, 0);
  idle_ = std::thread([this] {
    while (::sem_wait(&end_) != 0) continue;  // a signal interrupted it
  });
  received_signal = 0;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigset_t signals;
  ::sigemptyset(&signals);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaddset(&signals, kSignals[i]);
    ::sigaction(kSignals[i], nullptr, &actions_before[i]);
    const bool is_ignored = actions_before[i].sa_handler == SIG_IGN;
    if (kSignals[i] != SIGHUP || !is_ignored) ::sigaction(kSignals[i], &action, nullptr);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals, &blocked_before_);
}

StopSignals::~StopSignals() {
  ::pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], &actions_before[i], nullptr);
  }
  ::sem_post(&end_);
  idle_.join();
  ::sem_destroy(&end_);
}

int StopSignals::received() const { return received_signal; }

}  // namespace residual::run
