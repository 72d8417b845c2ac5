#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace residual {

// A stream of items through all cores that keeps its order:
//
//   produce() -> item, or nothing at the end       on a thread of its own
//   make_worker() -> a function item -> result     one per thread, so that it may keep a cache
//   consume(result), in the order produced         on the calling thread
//
// At most a few items per thread are in flight, so memory stays bounded. The first exception in
// stream order reaches the caller after everything before it was consumed. When it is not
// produce's own, stop() is called from the calling thread: it must make a waiting produce() return.
template <class Item, class Result>
class OrderedPipeline {
 public:
  using Worker = std::function<Result(Item)>;

  std::function<std::optional<Item>()> produce;
  std::function<Worker()> make_worker;
  std::function<void(Result)> consume;
  std::function<void()> stop = [] {};

  void run(int threads) {
    limit_ = static_cast<size_t>(threads) * 4;
    std::vector<std::thread> crew;
    std::exception_ptr error;
    try {
      crew.emplace_back([this] { produce_all(); });
      for (int i = 0; i < threads; ++i) crew.emplace_back([this] { work(); });
      consume_all();
    } catch (...) {
      error = std::current_exception();
      {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
      }
      changed_.notify_all();
      stop();
    }
    for (auto& thread : crew) thread.join();
    if (error) std::rethrow_exception(error);
  }

 private:
  struct Outcome {
    std::optional<Result> result;
    std::exception_ptr error;
  };

  void produce_all() {
    for (size_t at = 0;; ++at) {
      std::optional<Item> item;
      std::exception_ptr error;
      try {
        item = produce();
      } catch (...) {
        error = std::current_exception();
        item.reset();  // GCC 12 with -fsanitize=thread leaves the last round's item there
      }
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || at - consumed_ < limit_; });
      if (item && !stopped_) {
        items_.emplace_back(at, std::move(*item));
      } else {
        if (error) outcomes_[at] = {.error = error};
        end_ = error ? at + 1 : at;
        ended_ = true;
      }
      const bool over = ended_;
      lock.unlock();
      changed_.notify_all();
      if (over) return;
    }
  }

  void work() {
    Worker worker;
    std::exception_ptr unusable;
    try {
      worker = make_worker();
    } catch (...) {
      unusable = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopped_ || ended_ || !items_.empty(); });
      if (stopped_ || items_.empty()) return;
      auto [at, item] = std::move(items_.front());
      items_.pop_front();
      lock.unlock();
      Outcome outcome{.error = unusable};
      try {
        if (!unusable) outcome.result = worker(std::move(item));
      } catch (...) {
        outcome.error = std::current_exception();
      }
      lock.lock();
      outcomes_[at] = std::move(outcome);
      changed_.notify_all();
    }
  }

  void consume_all() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock,
                    [&] { return (ended_ && consumed_ == end_) || outcomes_.contains(consumed_); });
      if (ended_ && consumed_ == end_) return;
      auto node = outcomes_.extract(consumed_);
      lock.unlock();
      if (node.mapped().error) std::rethrow_exception(node.mapped().error);
      consume(std::move(*node.mapped().result));
      lock.lock();
      ++consumed_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<size_t, Item>> items_;
  std::map<size_t, Outcome> outcomes_;
  size_t limit_ = 0;
  size_t consumed_ = 0;
  size_t end_ = 0;
  bool ended_ = false;
  bool stopped_ = false;
};

}  // namespace residual
