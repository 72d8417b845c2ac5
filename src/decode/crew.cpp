#include "decode/crew.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"

namespace residual::decode {
namespace {

// Rows of a step at which products run near their best; more only take memory.
constexpr int64_t kGoodRows = 160;
constexpr int64_t kMostSentences = 1 << 20;
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
      batch_tokens_(options.batch_tokens),
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
    auto place = std::ranges::find(queue_, caller, [](const auto& each) { return each.first; });
    if (place == queue_.end()) place = queue_.emplace(queue_.end(), caller, std::deque<Job>());
    place->second.push_back({std::move(request), std::move(done)});
    ++waiting_;
  }
  changed_.notify_one();
}

bool Crew::take(const Search& search, std::vector<Job>& taken) {
  std::unique_lock lock(mutex_);
  if (search.sentences() == 0) {
    --busy_;
    changed_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
    ++busy_;
  }
  if (stopped_) return false;
  // A share of what there is, so that few sentences do not all go to one thread; and not one by
  // one, because the encoder does better on many.
  const int64_t share = (waiting_ + threads() - 1) / threads();
  const int64_t beam = search_options_.beam;
  int64_t room = batch_sentences_ * beam - search.beams();  // in rows
  const bool is_small = room < beam * std::min(share, (batch_sentences_ + 3) / 4);
  if (is_small && queue_.size() < 2) return true;
  int64_t tokens = search.source_tokens();
  size_t passed = 0;  // callers whose next one does not fit
  while (passed < queue_.size() && static_cast<int64_t>(taken.size()) < share) {
    auto& jobs = queue_.front().second;
    const Request& next = jobs.front().request;
    const auto size = static_cast<int64_t>(next.source.size());
    const int64_t rows = next.search ? next.search->beam : beam;
    // Short ones find room among others' long ones.
    const bool is_short = queue_.size() > 1 && size * 16 <= batch_tokens_;
    const bool fits = rows <= room && tokens + size <= batch_tokens_ * (is_short ? 2 : 1);
    const bool is_first = search.sentences() == 0 && taken.empty();
    if (fits || is_first) {
      taken.push_back(std::move(jobs.front()));
      jobs.pop_front();
      --waiting_;
      tokens += size;
      room -= rows;
      passed = 0;
    } else {
      ++passed;
    }
    next_caller();
    if (jobs.empty()) queue_.pop_back();
  }
  return true;
}

void Crew::work() {
  auto search = std::make_unique<Search>(models_, search_options_);
  std::unordered_map<uint64_t, Done> mine;
  uint64_t next_id = 0;
  std::vector<Job> taken;
  ++busy_;
  while (take(*search, taken)) {
    std::vector<Request> requests;
    for (auto& job : taken) {
      if (job.request.is_unwanted()) {
        job.done({.error = std::make_exception_ptr(Error(kUnwanted))});
        continue;
      }
      job.request.id = next_id++;
      mine[job.request.id] = std::move(job.done);
      requests.push_back(std::move(job.request));
    }
    taken.clear();
    try {
      if (has_many_) {
        for (const auto& model : models_) model->pack();
      }
      if (!requests.empty()) search->add(std::move(requests), idle_team());
      search->step(
          [&](uint64_t id, std::vector<Hypothesis> hypotheses) {
            Outcome outcome = {.hypotheses = std::move(hypotheses)};
            if (outcome.hypotheses.empty()) {
              outcome.error = std::make_exception_ptr(Error(kUnwanted));
            }
            mine.extract(id).mapped()(std::move(outcome));
          },
          idle_team());
    } catch (...) {
      for (auto& [id, done] : mine) done({.error = std::current_exception()});
      mine.clear();
      search = std::make_unique<Search>(models_, search_options_);
    }
  }
  --busy_;
}

}  // namespace residual::decode
