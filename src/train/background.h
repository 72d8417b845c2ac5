#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

namespace residual::train {

// Runs one task at a time in a separate thread. The next call rethrows a task's exception.
class Background {
 public:
  ~Background() {
    if (thread_.joinable()) thread_.join();
  }

  void run(std::function<void()> work) {
    wait();
    thread_ = std::thread([this, work = std::move(work)] {
      try {
        work();
      } catch (...) {
        error_ = std::current_exception();
        has_failed_ = true;
      }
    });
  }

  // Waits until no task is running.
  void wait() {
    if (thread_.joinable()) thread_.join();
    has_failed_ = false;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  // Tells whether the next call will throw; may become true at any time while a task is running.
  bool has_failed() const { return has_failed_; }

 private:
  std::thread thread_;
  std::exception_ptr error_;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace residual::train
