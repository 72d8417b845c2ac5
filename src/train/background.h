#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

namespace residual::train {

// One piece of work at a time in a thread of its own. What it throws comes out of the next call.
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

  // Until nothing is under way.
  void wait() {
    if (thread_.joinable()) thread_.join();
    has_failed_ = false;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  // Whether the next call will throw; may turn true at any time while something is under way.
  bool has_failed() const { return has_failed_; }

 private:
  std::thread thread_;
  std::exception_ptr error_;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace residual::train
