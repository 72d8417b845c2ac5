#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "decode/translator.h"
#include "serve/keys.h"
#include "serve/message.h"
#include "serve/metrics.h"
#include "serve/options.h"
#include "serve/request.h"
#include "serve/waiting.h"
#include "serve/workers.h"

namespace residual::serve {

// Answers requests for translations. Few threads read requests, so that a full server refuses the
// next one at once; `parallel` others translate.
class Translations {
 public:
  Translations(const ServerOptions& options, Metrics& metrics, const KeyRing& keys);
  // Answers all accepted requests.
  ~Translations() = default;

  // Before any request.
  void set_translator(std::shared_ptr<decode::Translator> translator);
  const decode::Translator& translator() const { return *translator_; }
  std::span<const model::Direction> directions() const;
  bool is_idle() const { return waiting_.is_empty(); }

  // POST /translate, in our form or in LibreTranslate's, and POST /detect.
  void translate(std::shared_ptr<Exchange> exchange);
  void detect(std::shared_ptr<Exchange> exchange);

 private:
  using Clock = std::chrono::steady_clock;

  // A translation that a client wants, and the form of its answer.
  struct Wish {
    TranslationRequest request;
    std::string api_key = {};  // of the body
    bool is_streamed = false;
    std::function<Answer(std::span<const Line>, std::span<const decode::Translation>)> answer = {};
  };
  struct Job {
    std::shared_ptr<Exchange> exchange;
    std::shared_ptr<const Wish> wish;
    std::optional<Waiting::Stay> stay;
    std::vector<Line> lines;
    decode::Translator::Terms terms;
    Clock::time_point begin;
  };

  void read(const std::shared_ptr<Exchange>& exchange, const std::function<void()>& action);
  std::shared_ptr<const Wish> wish_of(const Request& request) const;
  void check_size(const TranslationRequest& wanted, int64_t lines) const;
  void accept(const std::shared_ptr<Exchange>& exchange, Clock::time_point begin);
  void work(Job& job);
  void translate_all(Job& job);
  void stream(Job& job, bool& has_begun);
  void count_work(std::span<const decode::Translation> translations);
  std::shared_ptr<const decode::TextTools> tools_for(const TranslationRequest& wanted);

  const ServerOptions options_;
  Metrics& metrics_;
  const KeyRing& keys_;
  Waiting waiting_;
  std::shared_ptr<decode::Translator> translator_;
  std::mutex mutex_;  // of tools_
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const decode::TextTools>> tools_;
  Workers workers_, readers_;  // the last members: they end first
};

}  // namespace residual::serve
