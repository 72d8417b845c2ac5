#include "decode/crew.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"

namespace residual::decode {
namespace {

// Rows of a step at which products run near their best; more only take memory.
constexpr int64_t kGoodRows = 160;
constexpr int64_t kMostSentences = 1 << 20, kMostTokens = 1 << 30;
constexpr int kMostPassed = 16;  // steps in which others overtake what does not fit
constexpr const char* kUnwanted = "the translation was given up";

int threads_for(const CrewOptions& options) {
  return options.threads > 0 ? options.threads : thread_count();
}

}  // namespace

Crew::Crew(std::vector<std::shared_ptr<const Weights>> models, const SearchOptions& search,
           const CrewOptions& options)
    : models_(std::move(models)),
      search_options_(search),
      batch_sentences_(options.batch_sentences > 0
                           ? std::min(options.batch_sentences, kMostSentences)
                           : std::max<int64_t>(1, kGoodRows / search.beam)),
      batch_tokens_(std::min(options.batch_tokens, kMostTokens)),
      team_(threads_for(options)) {
  const Search checks_the_options(models_, search_options_);
  try {
    for (int i = 0; i < team_.size(); ++i) workers_.emplace_back([this] { work(); });
  } catch (...) {  // the system has no more
    stop();
    throw;
  }
}

Crew::~Crew() { stop(); }

void Crew::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void Crew::submit(Request request, Done done) {
  for (const auto& model : models_) check_request(request, model->config());
  {
    const std::lock_guard lock(mutex_);
    has_many_ = std::exchange(has_one_, true);
    const uint64_t caller = request.caller;
    auto place = std::ranges::find(queue_, caller, &Caller::id);
    if (place == queue_.end()) place = queue_.insert(place, Caller{.id = caller, .jobs = {}});
    place->jobs.push_back({std::move(request), std::move(done)});
    ++waiting_;
  }
  changed_.notify_one();
}

void Crew::take_unwanted(std::vector<Job>& taken) {
  for (auto caller = queue_.begin(); caller != queue_.end();) {
    auto& jobs = caller->jobs;
    while (!jobs.empty() && jobs.front().request.is_unwanted()) {
      taken.push_back(std::move(jobs.front()));
      jobs.pop_front();
      --waiting_;
    }
    caller = jobs.empty() ? queue_.erase(caller) : std::next(caller);
  }
}

bool Crew::take(const Search& search, std::vector<Job>& taken) {
  std::unique_lock lock(mutex_);
  if (search.sentences() == 0) {
    --busy_;
    changed_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
    ++busy_;
  }
  if (stopped_) return false;
  take_unwanted(taken);
  // A share of what there is, so that few sentences do not all go to one thread; and not one by
  // one, because the encoder does better on many.
  const int64_t share = (waiting_ + threads() - 1) / threads();
  const int64_t beam = search_options_.beam;
  int64_t room = batch_sentences_ * beam - search.beams();  // in rows
  const bool is_small = room < beam * std::min(share, (batch_sentences_ + 3) / 4);
  if (is_small && queue_.size() < 2) return true;
  int64_t tokens = search.source_tokens();
  int64_t count = 0;
  size_t passed = 0;  // callers whose next one does not fit
  while (passed < queue_.size() && count < share) {
    Caller& caller = queue_.front();
    const Request& next = caller.jobs.front().request;
    const int64_t size = next.read_tokens();
    const int64_t rows = next.search ? next.search->beam : beam;
    // Short ones find room among others' long ones.
    const bool is_short = queue_.size() > 1 && size * 16 <= batch_tokens_;
    const bool fits = rows <= room && tokens + size <= batch_tokens_ * (is_short ? 2 : 1);
    const bool is_first = search.sentences() == 0 && count == 0;
    if (fits || is_first) {
      taken.push_back(std::move(caller.jobs.front()));
      caller.jobs.pop_front();
      caller.passed = 0;
      --waiting_;
      ++count;
      tokens += size;
      room -= rows;
      passed = 0;
    } else if (++caller.passed > kMostPassed) {
      break;  // what ends now makes room for it alone
    } else {
      ++passed;
    }
    next_caller();
    if (caller.jobs.empty()) queue_.pop_back();
  }
  return true;
}

Crew::Outcome Crew::outcome_of(std::vector<Hypothesis> hypotheses) {
  Outcome outcome = {.hypotheses = std::move(hypotheses)};
  if (outcome.hypotheses.empty()) outcome.error = std::make_exception_ptr(Error(kUnwanted));
  return outcome;
}

Crew::Outcome Crew::translate_alone(const Request& request) const {
  try {
    Search search(models_, search_options_);
    return outcome_of(std::move(search_all(search, {request}).front()));
  } catch (...) {
    return {.error = std::current_exception()};
  }
}

void Crew::work() {
  auto search = std::make_unique<Search>(models_, search_options_);
  std::unordered_map<uint64_t, Job> mine;
  uint64_t next_id = 0;
  std::vector<Job> taken;
  ++busy_;
  while (take(*search, taken)) {
    std::vector<Request> requests;
    for (auto& job : taken) {
      if (job.request.is_unwanted()) {
        job.done(outcome_of({}));
        continue;
      }
      job.request.id = next_id++;
      requests.push_back(job.request);
      mine.emplace(job.request.id, std::move(job));
    }
    taken.clear();
    try {
      if (has_many_) {
        for (const auto& model : models_) model->pack();
      }
      if (!requests.empty()) search->add(std::move(requests), idle_team());
      search->step(
          [&](uint64_t id, std::vector<Hypothesis> hypotheses) {
            mine.extract(id).mapped().done(outcome_of(std::move(hypotheses)));
          },
          idle_team());
    } catch (...) {
      search = std::make_unique<Search>(models_, search_options_);
      const auto failed = std::exchange(mine, {});
      // One of them is to blame, and the others belong to other people.
      for (const auto& [id, job] : failed) {
        job.done(failed.size() == 1 ? Outcome{.error = std::current_exception()}
                                    : translate_alone(job.request));
      }
    }
  }
  --busy_;
}

}  // namespace residual::decode
