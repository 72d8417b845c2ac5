#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decode/language/generator.h"
#include "serve/message.h"

// OpenAI's form of completions: POST /v1/completions and GET /v1/models. Keys that would change the
// text in a way that the engine does not know are refused, not ignored.
namespace residual::serve {

struct CompletionRequest {
  std::vector<std::string> prompts;
  int64_t max_tokens = 16;
  int64_t n = 1;  // choices for each prompt
  double temperature = 1;
  double top_p = 1;
  int64_t top_k = 0;
  int64_t seed = 0;
  bool has_seed = false;
  double repetition_penalty = 1;
  bool echo = false;
  bool is_streamed = false;
  bool has_logprobs = false;
  std::vector<std::string> stop;

  int64_t choices() const { return static_cast<int64_t>(prompts.size()) * n; }
  // The search of one of a prompt's choices. Each draws with a seed of its own.
  decode::SearchOptions search(const decode::SearchOptions& defaults, int64_t choice) const;
};

// Throws an Error that names the key.
CompletionRequest parse_completion(std::string_view body);

// One choice of an answer.
struct CompletionChoice {
  std::string text;
  std::string finish_reason;  // "stop" or "length"; empty: not over
  int64_t prompt_tokens = 0, tokens = 0;
  std::vector<std::string> pieces;
  std::vector<float> log_probabilities;
};

// What the parts of an answer share.
struct CompletionHead {
  std::string id, model;
  int64_t created = 0;  // seconds since 1970
};
std::string completion_json(const CompletionHead& head, const CompletionRequest& request,
                            const std::vector<CompletionChoice>& choices);
// A part of a streamed answer: what has been added to a choice.
std::string completion_event(const CompletionHead& head, size_t index,
                             const CompletionChoice& added);
inline constexpr const char* kCompletionEnd = "data: [DONE]\n\n";

std::string models_json(const std::string& model, int64_t created);
// {"error": {"message": ..., "type": ...}}
Answer openai_error(const Answer& error);

// Finds the first of the stop texts in a text that comes in parts, and holds back what may be the
// beginning of one.
class StopFilter {
 public:
  explicit StopFilter(std::vector<std::string> stop) : stop_(std::move(stop)) {}

  // Returns what may be shown now.
  std::string add(std::string_view part);
  // Returns what was held back, at the end.
  std::string finish() { return std::exchange(held_, {}); }
  bool is_stopped() const { return is_stopped_; }

 private:
  std::vector<std::string> stop_;
  std::string held_;
  bool is_stopped_ = false;
};

}  // namespace residual::serve
