#include "serve/events.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "decode/json.h"

namespace residual::serve {
namespace {

using nlohmann::ordered_json;

// JSON has no line breaks, so that one "data" line holds it.
std::string event(std::string_view name, const ordered_json& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, decode::dump(data));
}

}  // namespace

Answer events_head() {
  return {.type = kEvents, .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}};
}

std::string sentence_event(const Line& line, std::string_view added) {
  return event("sentence", {{"text", line.text}, {"line", line.number}, {"added", added}});
}

std::string line_event(const TranslationRequest& request, const Line& line,
                       const decode::Translation& translation) {
  ordered_json data = {
      {"text", line.text}, {"line", line.number}, {"translation", translation.outputs[0].text}};
  if (request.details) data.update(decode::to_json(translation, request.search.with_attention));
  return event("line", data);
}

std::string done_event(size_t lines) { return event("done", {{"lines", lines}}); }

std::string error_event(const Answer& error) {
  ordered_json data = {{"status", error.status}};
  data.update(ordered_json::parse(error.body));
  return event("error", data);
}

}  // namespace residual::serve
