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
    queue_.push_back({std::move(request), std::move(done)});
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
  const auto waiting = static_cast<int64_t>(queue_.size());
  const int64_t share = (waiting + threads() - 1) / threads();
  const int64_t beam = search_options_.beam;
  int64_t room = batch_sentences_ * beam - search.beams();  // in rows
  if (room < beam * std::min(share, (batch_sentences_ + 3) / 4)) return true;
  int64_t tokens = search.source_tokens();
  while (!queue_.empty() && static_cast<int64_t>(taken.size()) < share) {
    const Request& next = queue_.front().request;
    tokens += static_cast<int64_t>(next.source.size());
    room -= next.search ? next.search->beam : beam;
    const bool is_first = search.sentences() == 0 && taken.empty();
    if ((tokens > batch_tokens_ || room < 0) && !is_first) break;
    taken.push_back(std::move(queue_.front()));
    queue_.pop_front();
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
