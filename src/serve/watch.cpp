#include "serve/watch.h"

#include "serve/connection.h"

namespace residual::serve {

Watch::Call::Call(Watch& watch, int socket, Clock::time_point until)
    : watch_(watch), socket_(socket), is_there_(!has_gone(socket)), until_(until) {
  const std::lock_guard lock(watch_.mutex_);
  place_ = watch_.calls_.insert(watch_.calls_.end(), this);
  watch_.changed_.notify_one();
}

Watch::Call::~Call() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.calls_.erase(place_);
}

void Watch::Call::look(Clock::time_point now) {
  if (*unwanted_) return;
  if (now >= until_) {
    reason_ = Reason::late;
  } else if (is_there_ && has_gone(socket_)) {
    reason_ = Reason::gone;
  } else {
    return;
  }
  *unwanted_ = true;
}

Watch::Watch() : thread_([this] { run(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Watch::run() {
  constexpr std::chrono::milliseconds kPeriod{50};
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    changed_.wait(lock, [&] { return stopped_ || !calls_.empty(); });
    for (Call* call : calls_) call->look(Clock::now());
    changed_.wait_for(lock, kPeriod, [&] { return stopped_; });
  }
}

}  // namespace residual::serve
