#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "decode/lines.h"
#include "serve/message.h"
#include "serve/request.h"

// Server-sent events: an answer that comes sentence by sentence.
//
//   event: sentence  {"text": 0, "line": 1, "added": "..."}, of lines with more than one
//   event: line      {"text": 0, "line": 1, "translation": "..."}, in the order of the request
//   event: done      {"lines": 2}: the answer is complete
//   event: error     {"status": 504, "error": "..."}: it ends here
namespace residual::serve {

inline constexpr const char* kEvents = "text/event-stream";

Answer events_head();
std::string sentence_event(const Line& line, std::string_view added);
// `details` adds what "details" adds to a JSON answer.
std::string line_event(const TranslationRequest& request, const Line& line,
                       const decode::Translation& translation);
std::string done_event(size_t lines);
std::string error_event(const Answer& error);

}  // namespace residual::serve
