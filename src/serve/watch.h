#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace residual::serve {

// Cancels calls whose deadline has passed or whose client has disconnected.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Reason { none, late, gone };

  // Watches one call until the object is destroyed. A Call must not outlive the Watch. A client
  // that has closed its sending side before the call begins may still wait for the answer, so its
  // state is not checked again.
  class Call {
   public:
    Call(Watch& watch, int socket, Clock::time_point until);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    std::shared_ptr<const std::atomic<bool>> unwanted() const { return unwanted_; }
    Reason reason() const { return reason_; }

   private:
    friend class Watch;
    void look(Clock::time_point now);

    Watch& watch_;
    int socket_;
    bool is_there_;
    Clock::time_point until_;
    std::shared_ptr<std::atomic<bool>> unwanted_ = std::make_shared<std::atomic<bool>>(false);
    std::atomic<Reason> reason_ = Reason::none;
    std::list<Call*>::iterator place_;
  };

  Watch();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Call*> calls_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace residual::serve
