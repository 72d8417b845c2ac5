#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "decode/language/generator.h"
#include "serve/compat/openai.h"
#include "serve/keys.h"
#include "serve/message.h"
#include "serve/metrics.h"
#include "serve/options.h"
#include "serve/waiting.h"
#include "serve/workers.h"

namespace residual::serve {

// Answers requests for completions of texts by a language model, as Translations does for
// translations. Every choice of a request counts as a line.
class Completions {
 public:
  Completions(const ServerOptions& options, Metrics& metrics, const KeyRing& keys,
              std::shared_ptr<decode::Generator> generator);

  bool is_idle() const { return waiting_.is_empty(); }
  std::string describe() const;
  std::string models() const { return models_json(generator_->name(), created_); }

  // POST /v1/completions
  void complete(std::shared_ptr<Exchange> exchange);

 private:
  using Clock = std::chrono::steady_clock;
  class Work;

  void accept(const std::shared_ptr<Exchange>& exchange, Clock::time_point begin);
  void count(std::span<const CompletionChoice> choices, Clock::time_point begin);

  const ServerOptions options_;
  Metrics& metrics_;
  const KeyRing& keys_;
  const std::shared_ptr<decode::Generator> generator_;
  const int64_t created_;  // of the server: seconds since 1970
  Waiting waiting_;
  Workers readers_;  // the last member: it ends first
};

}  // namespace residual::serve
