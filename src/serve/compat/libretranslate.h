#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decode/options.h"
#include "model/directory.h"
#include "serve/compat/language.h"
#include "serve/message.h"
#include "serve/request.h"

// The interface of LibreTranslate beside our own, so that its clients work: bodies are JSON objects
// or HTML forms with the key "q".
namespace residual::serve {

struct LibreRequest {
  TranslationRequest request;
  std::string api_key;
  int64_t alternatives = 0;
  std::optional<Detection> detected;  // for the source "auto"
};

// Whether the body of POST /translate has LibreTranslate's form.
bool is_libre(const Request& request);

LibreRequest parse_libre(const Request& request, const decode::SearchOptions& defaults,
                         std::span<const model::Direction> directions);

// {"translatedText": ..., "alternatives": ..., "detectedLanguage": ...}
Answer answer_libre(const LibreRequest& wanted, std::span<const Line> lines,
                    std::span<const decode::Translation> translations);

struct LibreDetection {
  std::string text, api_key;
};
LibreDetection parse_detection(const Request& request);
// [{"confidence": 92.0, "language": "de"}], of the languages that the model translates from.
Answer answer_detection(const std::string& text, std::span<const model::Direction> directions);

// [{"code": "de", "name": "German", "targets": ["en"]}]
Answer libre_languages(std::span<const model::Direction> directions);
Answer libre_settings(std::span<const model::Direction> directions, bool needs_key);

}  // namespace residual::serve
