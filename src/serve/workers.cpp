#include "serve/workers.h"

#include <utility>

namespace residual::serve {

Workers::Workers(int64_t threads) {
  ::sem_init(&wakes_, 0, 0);
  for (int64_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  for (size_t i = 0; i < threads_.size(); ++i) ::sem_post(&wakes_);
  for (auto& thread : threads_) thread.join();
  ::sem_destroy(&wakes_);
}

Workers::Ticket Workers::post(Job job) {
  const std::lock_guard lock(mutex_);
  queue_.emplace(++last_, std::move(job));
  ::sem_post(&wakes_);
  return last_;
}

bool Workers::drop(Ticket ticket) {
  std::map<Ticket, Job>::node_type dropped;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  dropped = queue_.extract(ticket);
  return !dropped.empty();
}

void Workers::run() {
  for (;;) {
    while (::sem_wait(&wakes_) != 0) {  // interrupted
    }
    std::map<Ticket, Job>::node_type next;
    {
      const std::lock_guard lock(mutex_);
      if (!queue_.empty()) {
        next = queue_.extract(queue_.begin());
      } else if (is_stopped_) {
        return;
      }
    }
    if (next) next.mapped()();
  }
}

}  // namespace residual::serve
