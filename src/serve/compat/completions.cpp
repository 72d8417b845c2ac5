#include "serve/compat/completions.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/version.h"
#include "decode/json.h"
#include "serve/body.h"
#include "serve/events.h"
#include "serve/router.h"

namespace residual::serve {
namespace {

constexpr int64_t kReaders = 2;  // threads

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int64_t characters_of(const CompletionRequest& request) {
  int64_t characters = 0;
  for (const auto& prompt : request.prompts) {
    characters += std::ranges::count_if(prompt, [](char c) { return (c & 0xC0) != 0x80; });
  }
  return characters;
}

uint64_t random_bits() {
  thread_local std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

// A request while its choices are written. Threads of searches call it, and so does the connection.
class Completions::Work : public std::enable_shared_from_this<Work> {
 public:
  Work(Completions& owner, std::shared_ptr<Exchange> exchange, CompletionRequest request,
       Waiting::Stay stay, Clock::time_point begin)
      : owner_(owner),
        exchange_(std::move(exchange)),
        request_(std::move(request)),
        stay_(std::move(stay)),
        head_{.id = fmt::format("cmpl-{:016x}", random_bits()),
              .model = owner.generator_->name(),
              .created = unix_seconds()},
        begin_(begin),
        left_(request_.choices()) {
    for (int64_t i = 0; i < left_; ++i) {
      Writing& writing = writings_.emplace_back(request_.stop);
      if (request_.echo) writing.ready = request_.prompts[i / request_.n];
    }
  }

  void start() {
    // The exchange owns this action: a shared pointer to it would keep it forever.
    exchange_->on_cancel([work = weak_from_this()] {
      if (const auto known = work.lock()) known->give_up();
    });
    const uint64_t caller = owner_.generator_->new_caller();
    for (size_t i = 0; i < writings_.size(); ++i) submit(i, caller);
  }

 private:
  struct Writing {
    explicit Writing(std::vector<std::string> stop) : filter(std::move(stop)) {}
    StopFilter filter;
    std::string ready;        // to be sent
    CompletionChoice choice;  // once it is over
    std::shared_ptr<std::atomic<bool>> unwanted = std::make_shared<std::atomic<bool>>(false);
  };

  void submit(size_t i, uint64_t caller) {
    const auto number = static_cast<int64_t>(i);
    const decode::Generator& generator = *owner_.generator_;
    auto search = std::make_shared<const decode::SearchOptions>(
        request_.search(generator.options().search, number % request_.n));
    const auto done = [self = shared_from_this(), i](decode::Generator::Result result,
                                                     const std::exception_ptr& error) {
      self->finish(i, result, error);
    };
    try {
      owner_.generator_->submit({.text = request_.prompts[number / request_.n],
                                 .search = std::move(search),
                                 .progress = [self = shared_from_this(),
                                              i](std::string_view text) { self->add(i, text); },
                                 .unwanted = writings_[i].unwanted,
                                 .number = static_cast<uint64_t>(number / request_.n) + 1,
                                 .caller = caller},
                                done);
    } catch (...) {
      done({}, std::current_exception());
    }
  }

  void give_up() {
    for (auto& writing : writings_) *writing.unwanted = true;
  }

  void add(size_t i, std::string_view text) {
    const std::lock_guard lock(mutex_);
    Writing& writing = writings_[i];
    writing.ready += writing.filter.add(text);
    if (writing.filter.is_stopped()) *writing.unwanted = true;
    if (!request_.is_streamed || writing.ready.empty() || error_) return;
    send(i, {.text = std::exchange(writing.ready, {})});
  }

  void finish(size_t i, decode::Generator::Result& result, const std::exception_ptr& error) {
    const std::lock_guard lock(mutex_);
    Writing& writing = writings_[i];
    const bool is_stopped = writing.filter.is_stopped();  // its search was given up, then
    if (error && !is_stopped) {
      if (!error_) error_ = error;
      give_up();
    }
    if (!error) note(result, writing);
    CompletionChoice& choice = writing.choice;
    choice.text = std::exchange(writing.ready, {}) + writing.filter.finish();
    if (is_stopped || choice.finish_reason.empty()) choice.finish_reason = "stop";
    if (request_.is_streamed && !error_) send(i, choice);
    if (--left_ == 0) answer();
  }

  void note(decode::Generator::Result& result, Writing& writing) {
    decode::Continuation& text = result.continuations.at(0);
    CompletionChoice& choice = writing.choice;
    choice.prompt_tokens = result.prompt_tokens;
    choice.tokens = std::ssize(text.tokens);
    choice.pieces = decode::symbols(text.tokens, *owner_.generator_->side().vocabulary);
    choice.log_probabilities = std::move(text.log_probabilities);
    choice.log_probabilities.resize(text.tokens.size());
    choice.finish_reason = text.is_cut ? "length" : "stop";
  }

  void send(size_t i, const CompletionChoice& choice) {
    if (!std::exchange(has_begun_, true)) exchange_->begin(events_head());
    exchange_->send(completion_event(head_, i, choice));
  }

  void answer() {
    stay_.reset();  // before the client can see its answer
    if (error_) {
      const Answer fault =
          openai_error(fault_of(*exchange_, error_, owner_.options_.timeout_seconds));
      if (!has_begun_) return exchange_->answer(fault);
      exchange_->send("data: " + fault.body + "\n");
      return exchange_->end();
    }
    std::vector<CompletionChoice> choices;
    for (auto& writing : writings_) choices.push_back(std::move(writing.choice));
    owner_.count(choices, begin_);
    if (!request_.is_streamed) {
      return exchange_->answer({.body = completion_json(head_, request_, choices)});
    }
    exchange_->send(kCompletionEnd);
    exchange_->end();
  }

  Completions& owner_;
  const std::shared_ptr<Exchange> exchange_;
  const CompletionRequest request_;
  std::optional<Waiting::Stay> stay_;
  const CompletionHead head_;
  const Clock::time_point begin_;
  std::mutex mutex_;
  std::deque<Writing> writings_;
  int64_t left_;
  bool has_begun_ = false;
  std::exception_ptr error_;  // the first one
};

Completions::Completions(const ServerOptions& options, Metrics& metrics, const KeyRing& keys,
                         std::shared_ptr<decode::Generator> generator)
    : options_(options),
      metrics_(metrics),
      keys_(keys),
      generator_(std::move(generator)),
      created_(unix_seconds()),
      waiting_(options.max_waiting, metrics.waiting),
      readers_(kReaders) {}

std::string Completions::describe() const {
  const model::Config& config = generator_->config();
  return decode::dump({{"residual", version()},
                       {"kind", "language"},
                       {"name", generator_->name()},
                       {"scheme", config.residual.name},
                       {"decoder_layers", config.decoder_layers},
                       {"width", config.width},
                       {"target_vocabulary", config.target_vocabulary},
                       {"max_positions", config.max_positions}}) +
         '\n';
}

void Completions::complete(std::shared_ptr<Exchange> exchange) {
  readers_.post([this, exchange, begin = Clock::now()] {
    try {
      accept(exchange, begin);
    } catch (const Refusal& refusal) {
      exchange->answer(openai_error(refusal.answer));
    } catch (const Error& error) {
      exchange->answer(openai_error(error_answer(400, error.what())));
    } catch (...) {
      exchange->answer(openai_error(answer_to(std::current_exception())));
    }
  });
}

void Completions::accept(const std::shared_ptr<Exchange>& exchange, Clock::time_point begin) {
  unpack(exchange->request, options_.max_request);
  CompletionRequest wanted = parse_completion(exchange->request.body);
  exchange->request.body = {};
  if (wanted.choices() > options_.max_waiting) {
    throw Refusal(error_answer(
        413, fmt::format("a request may have at most {} choices", options_.max_waiting)));
  }
  keys_.take(exchange->request, "", characters_of(wanted));
  std::optional<Waiting::Stay> stay = waiting_.enter(wanted.choices());
  if (!stay) {
    throw Refusal(retry_answer(503, "overloaded: too many texts are waiting; try again later", 1));
  }
  if (!wanted.has_seed) wanted.seed = static_cast<int64_t>(random_bits() >> 12);
  std::make_shared<Work>(*this, exchange, std::move(wanted), std::move(*stay), begin)->start();
}

void Completions::count(std::span<const CompletionChoice> choices, Clock::time_point begin) {
  for (const CompletionChoice& choice : choices) {
    metrics_.lines.Increment();
    metrics_.source_pieces.Increment(static_cast<double>(choice.prompt_tokens));
    metrics_.target_pieces.Increment(static_cast<double>(choice.tokens));
  }
  metrics_.seconds.Observe(std::chrono::duration<double>(Clock::now() - begin).count());
}

}  // namespace residual::serve
