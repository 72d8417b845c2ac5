#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/control_group.h"
#include "base/serial_scope.h"

namespace residual {
namespace {

std::atomic<int> chosen_threads{0};
thread_local bool inside_parallel_for = false;

// One parallel_for in progress.
struct Work {
  int64_t count;
  int64_t grain;
  const std::function<void(int64_t, int64_t)>* body;
  std::atomic<int64_t> next{0};
  int cpu = current_cpu();  // the caller's
  std::mutex mutex;
  std::exception_ptr error;
  int64_t error_piece = std::numeric_limits<int64_t>::max();

  void run() {
    inside_parallel_for = true;
    for (int64_t piece; (piece = next.fetch_add(1)) * grain < count;) {
      const int64_t begin = piece * grain;
      try {
        (*body)(begin, std::min(count, begin + grain));
      } catch (...) {
        next = (count + grain - 1) / grain;  // begin no further piece
        const std::lock_guard lock(mutex);
        if (piece < error_piece) {
          error_piece = piece;
          error = std::current_exception();
        }
      }
    }
    inside_parallel_for = false;
  }
};

// Threads that wait for work; grown on demand, joined when the process ends.
class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void run(Work& work, int helpers) {
    const std::lock_guard one_at_a_time(run_mutex_);
    {
      const std::lock_guard lock(mutex_);
      while (static_cast<int>(threads_.size()) < helpers) {
        threads_.emplace_back([this, generation = generation_] { wait_for_work(generation); });
      }
      work_ = &work;
      wanted_ = helpers;
      ++generation_;
    }
    wake_.notify_all();
    work.run();
    std::unique_lock lock(mutex_);
    wanted_ = 0;  // a helper that has not started yet has nothing left to do
    done_.wait(lock, [this] { return running_ == 0; });
    work_ = nullptr;
  }

 private:
  void wait_for_work(uint64_t seen) {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stop_ || (generation_ != seen && wanted_ > 0); });
      if (stop_) return;
      seen = generation_;
      --wanted_;
      ++running_;
      Work& work = *work_;
      lock.unlock();
      leave_cpu(work.cpu);
      work.run();
      lock.lock();
      if (--running_ == 0) done_.notify_one();
    }
  }

  std::mutex run_mutex_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  Work* work_ = nullptr;
  uint64_t generation_ = 0;
  int wanted_ = 0;
  int running_ = 0;
  bool stop_ = false;
};

}  // namespace

SerialScope::SerialScope() : before_(std::exchange(inside_parallel_for, true)) {}
SerialScope::~SerialScope() { inside_parallel_for = before_; }

int available_cores() {
  static const int cores = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    const int allowed = sched_getaffinity(0, sizeof(set), &set) == 0
                            ? CPU_COUNT(&set)
                            : static_cast<int>(std::thread::hardware_concurrency());
    return std::max(1, std::min(allowed, cores_of_groups(control_groups("cpu"))));
  }();
  return cores;
}

int current_cpu() { return sched_getcpu(); }

// Linux may start or wake a thread on the CPU of the thread that wants its help, and separate the
// two milliseconds later; some virtual machines' kernels do so on purpose. A helper that finds
// itself there moves away; its CPU mask stays as it was. On such a machine two threads touched 34
// MB in 1.8 ms instead of 3.3.
void leave_cpu(int cpu) {
  if (current_cpu() != cpu) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) == 0) return;
  sched_setaffinity(0, sizeof(others), &others);
  sched_setaffinity(0, sizeof(allowed), &allowed);
}

int thread_count() {
  const int chosen = chosen_threads;
  return chosen > 0 ? chosen : available_cores();
}

void set_thread_count(int threads) { chosen_threads = std::max(1, threads); }

void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t pieces = (count + grain - 1) / grain;
  const int helpers = static_cast<int>(std::min<int64_t>(thread_count(), pieces)) - 1;
  if (helpers == 0 || inside_parallel_for) {
    for (int64_t begin = 0; begin < count; begin += grain) {
      body(begin, std::min(count, begin + grain));
    }
    return;
  }
  static Pool pool;
  Work work{.count = count, .grain = grain, .body = &body};
  pool.run(work, helpers);
  if (work.error) std::rethrow_exception(work.error);
}

}  // namespace residual
