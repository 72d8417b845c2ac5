#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "decode/search.h"
#include "decode/team.h"

namespace residual::decode {

struct CrewOptions {
  int threads = 0;  // 0: thread_count()
  // That one thread works on at a time, at most; 0: by the beam. One with a wider beam than the
  // others counts as several.
  int64_t batch_sentences = 0;
  int64_t batch_tokens = 4096;  // of their sources
};

// Threads that translate what is submitted from anywhere. Each works on sentences of its own and
// takes new ones as others end, so that its batch stays full whatever their lengths, from callers
// in turn, so that one who wants much does not keep another from getting little, and those who want
// little do not keep room from one who waits for much; a thread that
// works alone is helped by the idle ones with its products. The models are packed when a second
// sentence comes: the first is answered sooner without.
class Crew {
 public:
  struct Outcome {
    std::vector<Hypothesis> hypotheses;  // best first
    std::exception_ptr error;            // instead of them
  };
  using Done = std::function<void(Outcome)>;

  Crew(std::vector<std::shared_ptr<const Weights>> models, const SearchOptions& search,
       const CrewOptions& options);
  // Drops what has not ended, without calling its `done`.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // From any thread. Calls `done` from a thread of the crew. Throws what check_request() does.
  void submit(Request request, Done done);

  int threads() const { return team_.size(); }
  int64_t batch_sentences() const { return batch_sentences_; }

 private:
  struct Job {
    Request request;
    Done done;
  };
  struct Caller {
    uint64_t id;
    std::deque<Job> jobs;
    int passed = 0;  // how often others were taken because its next one did not fit
  };

  static Outcome outcome_of(std::vector<Hypothesis> hypotheses);  // none: it became unwanted
  Outcome translate_alone(const Request& request) const;

  void stop();
  void work();
  void next_caller() { queue_.splice(queue_.end(), queue_, queue_.begin()); }
  // Of every caller, what comes next and is not wanted any more: `taken` has it to be told.
  void take_unwanted(std::vector<Job>& taken);
  // Waits if `search` has nothing to do. False: the end has come.
  bool take(const Search& search, std::vector<Job>& taken);
  Team* idle_team() { return busy_ == 1 && team_.size() > 1 ? &team_ : nullptr; }

  std::vector<std::shared_ptr<const Weights>> models_;
  SearchOptions search_options_;
  int64_t batch_sentences_, batch_tokens_;
  Team team_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Caller> queue_;  // the next one first; none is without jobs
  int64_t waiting_ = 0;      // jobs in it
  bool stopped_ = false;
  bool has_one_ = false;                // sentence
  std::atomic<bool> has_many_ = false;  // more than one sentence has come
  // Threads with sentences. One that finds itself alone may use the team during a step: no other
  // can find the same until that step is over and the first has counted itself out.
  std::atomic<int> busy_ = 0;
  std::vector<std::thread> workers_;
};

}  // namespace residual::decode
