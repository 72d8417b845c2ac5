#include "serve/compat/openai.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "decode/json.h"

namespace residual::serve {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int64_t kMostChoices = 128, kMostTokens = 1 << 20;
constexpr size_t kMostStops = 16;

// The keys of a request, each read once. What is left is unknown.
class Keys {
 public:
  explicit Keys(std::string_view body)
      : object_(json::parse(body, nullptr, /*allow_exceptions=*/false)) {
    require(object_.is_object(), "the body must be a JSON object");
  }

  // null counts as absent.
  json take(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end()) return nullptr;
    json value = std::move(*found);
    object_.erase(found);
    return value;
  }
  void number(const char* key, double& into, double low, double high) {
    const json value = take(key);
    if (value.is_null()) return;
    require(value.is_number() && value.get<double>() >= low && value.get<double>() <= high,
            "{}: expected a number from {} to {}", key, low, high);
    into = value.get<double>();
  }
  bool whole(const char* key, int64_t& into, int64_t low, int64_t high) {
    const json value = take(key);
    if (value.is_null()) return false;
    require(value.is_number_integer() && value.get<double>() >= static_cast<double>(low) &&
                value.get<double>() <= static_cast<double>(high),
            "{}: expected a whole number from {} to {}", key, low, high);
    into = value.get<int64_t>();
    return true;
  }
  void flag(const char* key, bool& into) {
    const json value = take(key);
    if (value.is_null()) return;
    require(value.is_boolean(), "{}: expected true or false", key);
    into = value.get<bool>();
  }
  std::vector<std::string> texts(const char* key) {
    const json value = take(key);
    if (value.is_null()) return {};
    if (value.is_string()) return {value.get<std::string>()};
    const bool is_list = value.is_array() && std::ranges::all_of(value, [](const json& each) {
                           return each.is_string();
                         });
    require(is_list, "{}: expected a string or a list of strings", key);
    return value.get<std::vector<std::string>>();
  }
  // A key whose other values would change the text in a way that is not offered.
  void only(const char* key, const json& neutral) {
    const json value = take(key);
    require(value.is_null() || value == neutral, "{}: only {} is possible", key, neutral.dump());
  }
  void finish() const {
    require(object_.empty(), "unknown key \"{}\"",
            object_.empty() ? std::string() : object_.begin().key());
  }

 private:
  json object_;
};

ordered_json choice_json(const CompletionChoice& choice, size_t index, bool has_logprobs) {
  ordered_json logprobs = nullptr;
  if (has_logprobs) {
    logprobs = {{"tokens", choice.pieces},
                {"token_logprobs", decode::rounded(choice.log_probabilities)}};
  }
  return {{"text", choice.text},
          {"index", index},
          {"logprobs", logprobs},
          {"finish_reason", choice.finish_reason.empty() ? ordered_json(nullptr)
                                                         : ordered_json(choice.finish_reason)}};
}

ordered_json head_json(const CompletionHead& head) {
  return {{"id", head.id},
          {"object", "text_completion"},
          {"created", head.created},
          {"model", head.model},
          {"choices", ordered_json::array()}};
}

}  // namespace

decode::SearchOptions CompletionRequest::search(const decode::SearchOptions& defaults,
                                                int64_t choice) const {
  decode::SearchOptions o = defaults;
  o.beam = o.n_best = 1;
  decode::limit_length(o, max_tokens);
  o.repetition_penalty = repetition_penalty;
  o.sampling = {};
  if (temperature == 0) return o;
  o.sampling = {.is_on = true,
                .top_k = top_k,
                .top_p = top_p,
                .temperature = temperature,
                .seed = (seed + choice) & std::numeric_limits<int64_t>::max()};
  return o;
}

CompletionRequest parse_completion(std::string_view body) {
  Keys keys(body);
  CompletionRequest r;
  r.prompts = keys.texts("prompt");
  if (r.prompts.empty()) r.prompts = {""};
  keys.whole("max_tokens", r.max_tokens, 1, kMostTokens);
  keys.whole("n", r.n, 1, kMostChoices);
  keys.number("temperature", r.temperature, 0, 100);
  require(r.temperature == 0 || r.temperature >= 1e-4, "temperature: expected 0, or at least 1e-4");
  keys.number("top_p", r.top_p, 1e-9, 1);
  keys.whole("top_k", r.top_k, 0, kMostTokens);
  r.has_seed = keys.whole("seed", r.seed, 0, int64_t{1} << 53);
  keys.number("repetition_penalty", r.repetition_penalty, 0.01, 100);
  keys.flag("echo", r.echo);
  keys.flag("stream", r.is_streamed);
  r.stop = keys.texts("stop");
  require(r.stop.size() <= kMostStops && !std::ranges::count(r.stop, ""),
          "stop: expected up to {} texts that are not empty", kMostStops);
  int64_t logprobs = 0;
  r.has_logprobs = keys.whole("logprobs", logprobs, 0, 5);
  require(!r.has_logprobs || (r.stop.empty() && !r.is_streamed && !r.echo),
          "logprobs: not together with stop, stream or echo");
  keys.only("best_of", r.n);
  keys.only("frequency_penalty", 0);
  keys.only("presence_penalty", 0);
  keys.only("logit_bias", json::object());
  keys.only("suffix", "");
  for (const char* key : {"model", "user", "stream_options"}) keys.take(key);  // change no text
  keys.finish();
  require(r.choices() <= kMostChoices, "n: {} prompts with {} choices each are more than {}",
          r.prompts.size(), r.n, kMostChoices);
  return r;
}

std::string completion_json(const CompletionHead& head, const CompletionRequest& request,
                            const std::vector<CompletionChoice>& choices) {
  ordered_json out = head_json(head);
  int64_t prompt_tokens = 0, tokens = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    out["choices"].push_back(choice_json(choices[i], i, request.has_logprobs));
    if (static_cast<int64_t>(i) % request.n == 0) prompt_tokens += choices[i].prompt_tokens;
    tokens += choices[i].tokens;
  }
  out["usage"] = {{"prompt_tokens", prompt_tokens},
                  {"completion_tokens", tokens},
                  {"total_tokens", prompt_tokens + tokens}};
  return decode::dump(out) + '\n';
}

std::string completion_event(const CompletionHead& head, size_t index,
                             const CompletionChoice& added) {
  ordered_json out = head_json(head);
  out["choices"].push_back(choice_json(added, index, false));
  return "data: " + decode::dump(out) + "\n\n";
}

std::string models_json(const std::string& model, int64_t created) {
  const ordered_json entry = {
      {"id", model}, {"object", "model"}, {"created", created}, {"owned_by", "residual"}};
  return decode::dump({{"object", "list"}, {"data", ordered_json::array({entry})}}) + '\n';
}

Answer openai_error(const Answer& error) {
  Answer answer = error;
  const json body = json::parse(error.body, nullptr, /*allow_exceptions=*/false);
  const std::string message =
      body.is_object() && body.contains("error") ? body["error"].get<std::string>() : error.body;
  answer.body =
      decode::dump({{"error",
                     {{"message", message},
                      {"type", error.status < 500 ? "invalid_request_error" : "server_error"}}}}) +
      '\n';
  return answer;
}

std::string StopFilter::add(std::string_view part) {
  if (is_stopped_) return {};
  held_ += part;
  size_t end = std::string::npos;
  for (const auto& stop : stop_) end = std::min(end, held_.find(stop));
  if (end != std::string::npos) {
    is_stopped_ = true;
    std::string shown = held_.substr(0, end);
    held_.clear();
    return shown;
  }
  // The longest end of the text that a stop text begins with stays here.
  size_t keep = 0;
  for (const auto& stop : stop_) {
    for (size_t size = std::min(stop.size() - 1, held_.size()); size > keep; --size) {
      if (held_.ends_with(std::string_view(stop).substr(0, size))) keep = size;
    }
  }
  std::string shown = held_.substr(0, held_.size() - keep);
  held_.erase(0, shown.size());
  return shown;
}

}  // namespace residual::serve
