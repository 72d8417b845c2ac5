#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace residual {

// Waits until ready() holds; as condition_variable::wait, but looks again ten times a second. glibc
// before 2.41 can lose a wake-up (its bug 25847): then this costs a moment instead of a hang.
template <class Ready>
void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Ready ready) {
  while (!changed.wait_for(lock, std::chrono::milliseconds(100), ready)) {
  }
}

}  // namespace residual
