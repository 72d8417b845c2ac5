#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "train/ranks/pulse.h"
#include "train/ranks/ranks.h"

namespace residual::train {

// Thrown when another process has disappeared.
class PeerLost : public Error {
 public:
  using Error::Error;
};

// Thrown when another process has told that it failed.
class PeerFailed : public PeerLost {
 public:
  using PeerLost::PeerLost;
};

// The thread that makes all calls of Ranks. It moves the tasks it was given and watches the other
// ranks, whatever the rest of the process does.
class Courier {
 public:
  using Open = std::function<std::unique_ptr<Ranks>()>;
  using Duration = Pulse::Clock::duration;

  // Something that needs several transfers.
  class Task {
   public:
    virtual ~Task() = default;
    // Called again and again by the courier's thread, until it returns true.
    virtual bool advance(Ranks& ranks) = 0;
  };

  // Meets the other ranks. A rank that is silent for so long counts as lost.
  Courier(const Open& open, Duration silence);
  // Waits for the other ranks if nothing has failed.
  ~Courier();

  int rank() const { return rank_; }
  int size() const { return size_; }
  void set_names(std::vector<std::string> names);  // of the ranks, for messages

  void start(Task& task);
  // Returns when the task is done. Throws PeerLost if a rank has disappeared or failed; nothing
  // touches the tasks' memory then.
  void wait(const Task& task);
  void run(Task& task) {
    start(task);
    wait(task);
  }
  // Tells the other ranks that this one fails. Nothing touches the tasks' memory afterwards.
  void fail();
  bool is_running(const Task& task) const;

 private:
  void loop(const Open& open, Duration silence);
  void serve(Ranks& ranks, Pulse& pulse, Duration silence);
  bool advance_tasks(Ranks& ranks);
  void rest(int idle_rounds);
  [[noreturn]] void report() const;
  void end();

  int rank_ = 0, size_ = 1;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_, work_;
  std::vector<Task*> tasks_;
  std::vector<std::string> names_;
  std::exception_ptr cannot_open_;
  std::string trouble_;  // MPI's own error
  Loss loss_;
  bool opened_ = false, leaving_ = false, failing_ = false, ended_ = false;
  std::thread thread_;
};

}  // namespace residual::train
