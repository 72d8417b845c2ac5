#pragma once

#include <semaphore.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace residual::serve {

// A fixed number of threads that run jobs in the order in which they came. Jobs must not throw.
class Workers {
 public:
  using Job = std::function<void()>;
  using Ticket = uint64_t;

  explicit Workers(int64_t threads);
  // Runs the jobs that are left.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  Ticket post(Job job);
  // Removes a job that has not begun. False: it has.
  bool drop(Ticket ticket);

 private:
  void run();

  std::mutex mutex_;
  sem_t wakes_;  // counts jobs, also dropped ones, and threads to end
  std::map<Ticket, Job> queue_;
  Ticket last_ = 0;
  bool is_stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace residual::serve
