#include "serve/translations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "serve/body.h"
#include "serve/compat/libretranslate.h"
#include "serve/events.h"
#include "serve/router.h"
#include "text/unicode.h"

namespace residual::serve {
namespace {

using decode::Translation;

constexpr double kMostAttention = 16 << 20;  // attention weights in one answer, approximately
constexpr int64_t kReaders = 2;              // threads
constexpr size_t kKnownDirections = 256;     // whose text tools are kept

constexpr const char* kWantedType =
    "Content-Type: expected application/json, with a body like {\"text\": \"...\"}, or "
    "text/plain";

int64_t count_characters(const TranslationRequest& wanted) {
  int64_t characters = 0;
  for (const auto& text : wanted.texts) {
    characters += std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
  }
  return characters;
}

// Returns the terminology of a request, or null to use the translator's.
std::shared_ptr<const decode::Terminology> terminology_of(const TranslationRequest& wanted) {
  if (!wanted.has_terms) return nullptr;
  return std::make_shared<decode::Terminology>(wanted.terms);
}

void translate_lines(decode::Translator& translator, const std::vector<Line>& lines,
                     const decode::Translator::Terms& terms,
                     const std::function<void(Translation)>& deliver,
                     const std::function<void(const decode::Progressed&)>& progress = {}) {
  size_t at = 0;
  translator.translate(
      {.next = [&]() -> std::optional<decode::SourceLine> {
         if (at == lines.size()) return std::nullopt;
         const Line& line = lines[at++];
         return decode::SourceLine{std::string(line.source), std::string(line.prefix)};
       },
       .deliver = deliver,
       .progress = progress,
       .terms = terms});
}

}  // namespace

Translations::Translations(const ServerOptions& options, Metrics& metrics, const KeyRing& keys)
    : options_(options),
      metrics_(metrics),
      keys_(keys),
      waiting_(options.max_waiting, metrics.waiting),
      workers_(options.parallel),
      readers_(kReaders) {}

// This also detects a model that cannot translate.
void Translations::set_translator(std::shared_ptr<decode::Translator> translator) {
  translator_ = std::move(translator);
  translator_->pack();
  const std::vector<std::string> line = {"a"};
  translator_->translate(line);
}

std::span<const model::Direction> Translations::directions() const {
  const auto& model = translator_->tools().model;
  if (!model) return {};
  return model->description().directions;
}

// Runs an action that answers or throws.
void Translations::read(const std::shared_ptr<Exchange>& exchange,
                        const std::function<void()>& action) {
  readers_.post([exchange, action] {
    try {
      action();
    } catch (const Refusal& refusal) {
      exchange->answer(refusal.answer);
    } catch (const Error& error) {
      exchange->answer(error_answer(400, error.what()));
    } catch (...) {
      exchange->answer(answer_to(std::current_exception()));
    }
  });
}

void Translations::translate(std::shared_ptr<Exchange> exchange) {
  read(exchange, [this, exchange, begin = Clock::now()] { accept(exchange, begin); });
}

void Translations::detect(std::shared_ptr<Exchange> exchange) {
  read(exchange, [this, exchange] {
    unpack(exchange->request, options_.max_request);
    const LibreDetection wanted = parse_detection(exchange->request);
    keys_.take(exchange->request, wanted.api_key, 0);
    exchange->answer(answer_detection(wanted.text, directions()));
  });
}

std::shared_ptr<const Translations::Wish> Translations::wish_of(const Request& request) const {
  const decode::SearchOptions& defaults = translator_->options().search;
  auto wish = std::make_shared<Wish>();
  const std::string type = request.media_type();
  const bool is_plain = type == "text/plain";
  if (!is_plain && is_libre(request)) {
    auto libre = std::make_shared<LibreRequest>(parse_libre(request, defaults, directions()));
    wish->api_key = libre->api_key;
    wish->request = libre->request;
    wish->answer = [libre](auto lines, auto translations) {
      return answer_libre(*libre, lines, translations);
    };
    return wish;
  }
  // A client that does not set the type, such as `curl -d`, still sends a JSON object.
  const size_t first = request.body.find_first_not_of(" \t\r\n");
  const bool is_json = type == kJson || type.ends_with("+json") ||
                       (first != std::string::npos && request.body[first] == '{');
  const bool is_form = type == "multipart/form-data";
  if ((!is_plain && !is_json) || is_form) throw Refusal(error_answer(415, kWantedType));
  require(is_plain || request.query.empty(),
          "a JSON request takes no URL query; put all keys into the body");
  wish->request = is_plain ? parse_text(request.body, request.query, defaults)
                           : parse_json(request.body, defaults);
  wish->is_streamed = request.accepts(kEvents);
  wish->answer = [is_plain, wanted = &wish->request](auto lines, auto translations) -> Answer {
    if (is_plain) return {.type = kText, .body = answer_text(translations)};
    return {.body = answer_json(*wanted, lines, translations)};
  };
  return wish;
}

void Translations::check_size(const TranslationRequest& wanted, int64_t lines) const {
  if (lines > options_.max_waiting) {
    throw Refusal(error_answer(
        413,
        fmt::format("a request may have at most {} lines, this one has {}; split it into several",
                    options_.max_waiting, lines)));
  }
  if (attention_size(wanted) > kMostAttention) {
    throw Refusal(error_answer(
        413,
        "the attention weights of this request are too large; split the request, or set "
        "with_attention and replace_unk to false"));
  }
}

// Reads a request and queues it, or throws.
void Translations::accept(const std::shared_ptr<Exchange>& exchange, Clock::time_point begin) {
  unpack(exchange->request, options_.max_request);
  const auto wish = wish_of(exchange->request);
  exchange->request.body = {};
  const TranslationRequest& wanted = wish->request;
  const int64_t count = count_lines(wanted);
  check_size(wanted, count);
  keys_.take(exchange->request, wish->api_key, count_characters(wanted));
  std::optional<Waiting::Stay> stay = waiting_.enter(count);
  if (!stay) {
    throw Refusal(retry_answer(503, "overloaded: too many lines are waiting; try again later", 1));
  }
  const decode::Translator::Terms terms = {
      .search = std::make_shared<const decode::SearchOptions>(wanted.search),
      .tools = tools_for(wanted),
      .terminology = terminology_of(wanted),
      .text = wanted.lines,
      .unwanted = exchange->unwanted()};
  const auto job =
      std::make_shared<Job>(Job{exchange, wish, std::move(stay), lines_of(wanted), terms, begin});
  const auto ticket = workers_.post([this, job] { work(*job); });
  // The exchange owns this action: a shared pointer to it would keep it forever.
  exchange->on_cancel([this, ticket, asked = exchange.get()] {
    if (workers_.drop(ticket)) asked->answer(fault_of(*asked, nullptr, options_.timeout_seconds));
  });
}

void Translations::work(Job& job) {
  bool has_begun = false;
  try {
    if (job.wish->is_streamed) {
      stream(job, has_begun);
    } else {
      translate_all(job);
    }
  } catch (...) {
    const Answer fault =
        fault_of(*job.exchange, std::current_exception(), options_.timeout_seconds);
    job.stay.reset();
    if (!has_begun) return job.exchange->answer(fault);
    job.exchange->send(error_event(fault));
    job.exchange->end();
  }
}

void Translations::translate_all(Job& job) {
  std::vector<Translation> translations;
  translate_lines(*translator_, job.lines, job.terms,
                  [&](Translation t) { translations.push_back(std::move(t)); });
  count_work(translations);
  metrics_.seconds.Observe(std::chrono::duration<double>(Clock::now() - job.begin).count());
  Answer answer = job.wish->answer(job.lines, translations);
  job.stay.reset();  // before the client can see its answer
  job.exchange->answer(std::move(answer));
}

void Translations::stream(Job& job, bool& has_begun) {
  const auto begin = [&] {
    if (!std::exchange(has_begun, true)) job.exchange->begin(events_head());
  };
  size_t at = 0;
  bool is_first = true;  // sentence of its line
  const auto deliver = [&](const Translation& translation) {
    begin();
    count_work({&translation, 1});
    job.exchange->send(line_event(job.wish->request, job.lines[at++], translation));
    is_first = true;
  };
  const auto progress = [&](const decode::Progressed& sentence) {
    if (std::exchange(is_first, false) && sentence.is_end) return;  // the line follows at once
    begin();
    job.exchange->send(sentence_event(job.lines[at], sentence.added));
  };
  translate_lines(*translator_, job.lines, job.terms, deliver, progress);
  begin();
  metrics_.seconds.Observe(std::chrono::duration<double>(Clock::now() - job.begin).count());
  job.stay.reset();
  job.exchange->send(done_event(job.lines.size()));
  job.exchange->end();
}

void Translations::count_work(std::span<const Translation> translations) {
  size_t source = 0, target = 0;
  for (const auto& translation : translations) {
    source += translation.source_pieces.size();
    target += translation.outputs[0].pieces.size();
  }
  metrics_.lines.Increment(static_cast<double>(translations.size()));
  metrics_.source_pieces.Increment(static_cast<double>(source));
  metrics_.target_pieces.Increment(static_cast<double>(target));
}

// Returns the text tools for the direction of a request, or null to use the translator's.
std::shared_ptr<const decode::TextTools> Translations::tools_for(const TranslationRequest& wanted) {
  const decode::TranslatorOptions& own = translator_->options();
  const decode::TextTools& tools = translator_->tools();
  const bool has_none =
      !tools.model || (tools.pieces && tools.model->description().directions.empty());
  if (has_none && wanted.from.empty() && wanted.to.empty()) return nullptr;
  require(tools.model != nullptr, "from, to: the model has no directions");
  const model::Direction direction = [&] {
    try {
      return tools.model->direction(wanted.from.empty() ? own.source : wanted.from,
                                    wanted.to.empty() ? own.target : wanted.to);
    } catch (const Error& error) {  // hide the model's path from clients
      const std::string text = error.what(), path = tools.model->path().string() + ": ";
      fail("from, to: the model {}", text.starts_with(path) ? text.substr(path.size()) : text);
    }
  }();
  const std::lock_guard lock(mutex_);
  if (tools_.size() >= kKnownDirections) tools_.clear();  // zero-shot ones are many
  auto& known = tools_[{direction.source, direction.target}];
  if (!known) {
    known = std::make_shared<decode::TextTools>(tools.towards(direction.source, direction.target));
  }
  return known;
}

}  // namespace residual::serve
