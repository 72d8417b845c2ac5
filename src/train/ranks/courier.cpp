#include "train/ranks/courier.h"

#include <algorithm>

namespace residual::train {
namespace {

using namespace std::chrono_literals;

constexpr auto kOpening = 120s;  // until all ranks have started
constexpr auto kLastNews = 2s;   // to tell the others about a loss
constexpr auto kNap = 50us;      // between calls while tasks wait
constexpr auto kIdle = 20ms;     // and while there are none
constexpr int kBusyRounds = 50;  // before the first nap

}  // namespace

Courier::Courier(const Open& open, Duration silence)
    : thread_([this, open, silence] { loop(open, silence); }) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kOpening, [&] { return opened_ || ended_; })) {
    lock.unlock();
    thread_.detach();  // it waits inside MPI; the caller's error ends the process
    residual::fail("some processes did not start within {} seconds", kOpening.count());
  }
  if (opened_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(cannot_open_);
}

Courier::~Courier() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void Courier::set_names(std::vector<std::string> names) {
  const std::lock_guard lock(mutex_);
  names_ = std::move(names);
}

void Courier::start(Task& task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(&task);
  }
  work_.notify_one();
}

void Courier::wait(const Task& task) {
  std::unique_lock lock(mutex_);
  const auto is_done = [&] { return std::ranges::find(tasks_, &task) == tasks_.end(); };
  changed_.wait(lock, [&] { return ended_ || is_done(); });
  if (!is_done()) report();
}

bool Courier::is_running(const Task& task) const {
  const std::lock_guard lock(mutex_);
  return !ended_ && std::ranges::find(tasks_, &task) != tasks_.end();
}

void Courier::fail() {
  std::unique_lock lock(mutex_);
  failing_ = true;
  work_.notify_one();
  changed_.wait(lock, [&] { return ended_; });
}

void Courier::report() const {
  const auto rank = static_cast<size_t>(loss_.rank);
  const std::string who =
      fmt::format("process {}{}", loss_.rank,
                  loss_ && rank < names_.size() ? fmt::format(" ({})", names_[rank]) : "");
  switch (loss_.kind) {
    case Loss::Kind::silent:
      throw PeerLost(
          fmt::format("{} has disappeared: it was killed or stopped, or its machine "
                      "cannot be reached",
                      who));
    case Loss::Kind::failed:
      throw PeerFailed(fmt::format("{} has failed; its output gives the reason", who));
    case Loss::Kind::none:
      break;
  }
  throw PeerLost("MPI has failed: " + trouble_);
}

void Courier::loop(const Open& open, Duration silence) {
  std::unique_ptr<Pulse> pulse;  // outlives the ranks, which may still receive a sign of life
  std::unique_ptr<Ranks> ranks;
  try {
    ranks = open();
    rank_ = ranks->rank();
    size_ = ranks->size();
    {
      const std::lock_guard lock(mutex_);
      opened_ = true;
    }
    changed_.notify_all();
    if (size_ > 1) {
      pulse = std::make_unique<Pulse>(*ranks, silence);
      serve(*ranks, *pulse, silence);
    }
    ranks.reset();
  } catch (...) {
    cannot_open_ = std::current_exception();
  }
  end();
}

void Courier::serve(Ranks& ranks, Pulse& pulse, Duration silence) {
  using Time = Pulse::Clock::time_point;
  Time give_up = Time::max();  // set when something has failed: time for the last news
  for (int idle = 0;; ++idle) {
    bool leaving = false;
    Loss loss;
    try {
      if (give_up == Time::max() && advance_tasks(ranks)) idle = 0;
      loss = pulse.beat();
    } catch (const std::exception& error) {
      if (trouble_.empty()) {
        trouble_ = error.what();
        give_up = Pulse::Clock::now() + silence + kLastNews;  // the pulse may find out who it is
      }
    }
    {
      const std::lock_guard lock(mutex_);
      if (loss) loss_ = loss;
      if (failing_) pulse.fail();
      leaving = leaving_ && tasks_.empty();
    }
    const auto now = Pulse::Clock::now();
    if (loss && give_up > now + kLastNews) give_up = now + kLastNews;
    if ((loss && pulse.delivered()) || now > give_up) return ranks.give_up();
    if (leaving && give_up == Time::max()) return;
    rest(idle);
  }
}

// Returns whether a task has ended.
bool Courier::advance_tasks(Ranks& ranks) {
  std::vector<Task*> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks = tasks_;
  }
  bool has_ended = false;
  for (Task* task : tasks) {
    if (!task->advance(ranks)) continue;
    has_ended = true;
    const std::lock_guard lock(mutex_);
    std::erase(tasks_, task);
  }
  if (has_ended) changed_.notify_all();
  return has_ended;
}

void Courier::rest(int idle_rounds) {
  std::unique_lock lock(mutex_);
  if (tasks_.empty()) {
    if (!leaving_ && !failing_) work_.wait_for(lock, kIdle);
    return;
  }
  lock.unlock();
  if (idle_rounds < kBusyRounds) return std::this_thread::yield();
  std::this_thread::sleep_for(kNap);
}

void Courier::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace residual::train
