#pragma once

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
      }
    });
  }

  // Until nothing is under way.
  void wait() {
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  std::thread thread_;
  std::exception_ptr error_;
};

}  // namespace residual::train
