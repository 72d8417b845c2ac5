#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace residual::python {

// Runs `work` in a thread of its own without the GIL, while the calling thread looks for signals.
// If the handler of one raises (Ctrl-C raises KeyboardInterrupt), `unwanted` becomes true, at which
// `work` must end soon, and the exception goes on to the caller. REQUIRES: the caller has the GIL.
template <class Work>
void interruptibly(std::atomic<bool>& unwanted, const Work& work) {
  constexpr std::chrono::milliseconds kLook(50);
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::exception_ptr error;
  std::optional<nanobind::python_error> signal;
  {
    const nanobind::gil_scoped_release without_gil;
    std::thread worker([&] {
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      is_done = true;
      changed.notify_one();
    });
    const auto waited = [&] {
      std::unique_lock lock(mutex);
      return changed.wait_for(lock, kLook, [&] { return is_done; });
    };
    while (!waited()) {
      if (signal) continue;
      const nanobind::gil_scoped_acquire with_gil;
      if (PyErr_CheckSignals() != 0) {
        signal.emplace();
        unwanted = true;
      }
    }
    worker.join();
  }
  if (signal) throw nanobind::python_error(*signal);
  if (error) std::rethrow_exception(error);
}

}  // namespace residual::python
