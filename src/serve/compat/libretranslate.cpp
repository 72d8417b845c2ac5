#include "serve/compat/libretranslate.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "decode/json.h"
#include "serve/compat/form.h"
#include "text/unicode.h"

namespace residual::serve {
namespace {

using model::Direction;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kForm = "application/x-www-form-urlencoded";
constexpr const char* kAuto = "auto";

bool is_object(std::string_view body) {
  const size_t first = body.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && body[first] == '{';
}

// The keys of a form; "q" may occur several times.
json parse_fields(std::string_view body) {
  json object = json::object();
  for (auto& [key, value] : parse_form(body)) {
    require(text::find_invalid_utf8(value) == std::string::npos, "{}: not valid UTF-8", key);
    if (key == "q" && object.contains(key)) {
      if (!object[key].is_array()) object[key] = json::array({std::move(object[key])});
      object[key].push_back(value);
    } else {
      object[key] = value;
    }
  }
  return object;
}

json object_of(const Request& request) {
  if (!is_object(request.body)) return parse_fields(request.body);
  json object = json::parse(request.body, nullptr, false);
  require(!object.is_discarded(), "the request is not valid JSON");
  return object;
}

std::string string_at(const json& object, const char* key, const char* otherwise) {
  if (!object.contains(key) || object[key].is_null()) return otherwise;
  require(object[key].is_string(), "{}: expected a string, got {}", key, object[key].type_name());
  return object[key];
}

int64_t alternatives_of(const json& object) {
  const json given = object.value("alternatives", json(0));
  int64_t number = -1;
  if (given.is_string()) {
    const auto& text = given.get_ref<const std::string&>();
    std::from_chars(text.data(), text.data() + text.size(), number);
  } else if (given.is_number_integer()) {
    number = given;
  }
  require(number >= 0 && number < decode::kWidestBeam,
          "alternatives: expected a number from 0 to {}, got {}", decode::kWidestBeam - 1,
          given.dump(-1, ' ', false, json::error_handler_t::replace));
  return number;
}

// The languages that the model translates from, to `target` if that is not empty.
std::vector<std::string> sources_of(std::span<const Direction> directions,
                                    const std::string& target) {
  std::vector<std::string> sources;
  for (const auto& direction : directions) {
    if (!target.empty() && direction.target != target) continue;
    if (std::ranges::find(sources, direction.source) == sources.end()) {
      sources.push_back(direction.source);
    }
  }
  return sources;
}

Detection detected(const json& q, std::span<const Direction> directions,
                   const std::string& target) {
  std::string text;
  for (const auto& part : q.is_array() ? q : json::array({q})) {
    if (part.is_string()) text += part.get_ref<const std::string&>() + '\n';
  }
  const auto sources = sources_of(directions, target);
  require(!sources.empty(), "target: the model does not translate to {}", target);
  const Detection best = detect_language(text, sources)[0];
  require(sources.size() == 1 || best.confidence > 0,
          "source: the language of the text is unclear; give one of those of /languages");
  return best;
}

// One text for each text of the request: its lines' translations of rank `rank`, or the last.
std::vector<std::string> texts_of(size_t count, std::span<const Line> lines,
                                  std::span<const decode::Translation> translations, size_t rank) {
  std::vector<std::string> texts(count);
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string& text = texts[lines[i].text];
    if (lines[i].number > 1) text += '\n';
    const auto& outputs = translations[i].outputs;
    text += outputs[std::min(rank, outputs.size() - 1)].text;
  }
  return texts;
}

ordered_json one_or_all(const std::vector<ordered_json>& all, bool is_list) {
  return is_list ? ordered_json(all) : all.at(0);
}

ordered_json to_json(const Detection& detection) {
  return {{"confidence", detection.confidence}, {"language", detection.language}};
}

Answer json_answer(const ordered_json& body) { return {.body = decode::dump(body) + '\n'}; }

}  // namespace

bool is_libre(const Request& request) {
  if (!is_object(request.body)) {
    return request.media_type() == kForm && parse_form(request.body).contains("q");
  }
  // Only a body with this string can have the key, and few have it elsewhere.
  if (request.body.find("\"q\"") == std::string::npos) return false;
  const json object = json::parse(request.body, nullptr, false);
  return object.is_object() && object.contains("q") && !object.contains("text");
}

LibreRequest parse_libre(const Request& request, const decode::SearchOptions& defaults,
                         std::span<const Direction> directions) {
  const json object = object_of(request);
  LibreRequest wanted;
  wanted.api_key = string_at(object, "api_key", "");
  wanted.alternatives = alternatives_of(object);
  const std::string format = string_at(object, "format", "text");
  require(format == "text" || format == "html", "format: expected text or html, got {}", format);
  const std::string target = string_at(object, "target", "");
  std::string source = string_at(object, "source", kAuto);
  if (source == kAuto && directions.empty()) source = "";
  if (source == kAuto) {
    wanted.detected = detected(object["q"], directions, target);
    source = wanted.detected->language;
  }
  json own = {{"text", object["q"]}, {"from", source}, {"to", target}};
  if (wanted.alternatives > 0) {
    own["n_best"] = wanted.alternatives + 1;
    own["beam"] = std::max(defaults.beam, wanted.alternatives + 1);
  }
  if (format == "html") own["markup"] = "html";
  wanted.request = parse_json(own.dump(), defaults);
  return wanted;
}

Answer answer_libre(const LibreRequest& wanted, std::span<const Line> lines,
                    std::span<const decode::Translation> translations) {
  const size_t count = wanted.request.texts.size();
  const bool is_list = wanted.request.is_list;
  const auto best = texts_of(count, lines, translations, 0);
  ordered_json body;
  if (wanted.alternatives > 0) {
    std::vector<ordered_json> others(count, ordered_json::array());
    for (int64_t rank = 1; rank <= wanted.alternatives; ++rank) {
      const auto texts = texts_of(count, lines, translations, static_cast<size_t>(rank));
      for (size_t i = 0; i < count; ++i) {
        if (texts[i] != best[i] && (others[i].empty() || others[i].back() != texts[i])) {
          others[i].push_back(texts[i]);
        }
      }
    }
    body["alternatives"] = one_or_all(others, is_list);
  }
  if (wanted.detected) {
    const std::vector<ordered_json> all(count, to_json(*wanted.detected));
    body["detectedLanguage"] = one_or_all(all, is_list);
  }
  body["translatedText"] = one_or_all({best.begin(), best.end()}, is_list);
  return json_answer(body);
}

LibreDetection parse_detection(const Request& request) {
  const json object = object_of(request);
  require(object.is_object() && object.contains("q"),
          "q: missing; a request is {{\"q\": \"...\"}}");
  return {string_at(object, "q", ""), string_at(object, "api_key", "")};
}

Answer answer_detection(const std::string& text, std::span<const Direction> directions) {
  require(text::find_invalid_utf8(text) == std::string::npos, "q: not valid UTF-8");
  const auto sources = sources_of(directions, "");
  ordered_json found = ordered_json::array();
  for (const Detection& detection : detect_language(text, sources)) {
    if (detection.confidence > 0 || found.empty()) found.push_back(to_json(detection));
  }
  return json_answer(found);
}

Answer libre_languages(std::span<const Direction> directions) {
  std::map<std::string, std::set<std::string>> targets;
  for (const auto& direction : directions) {
    targets[direction.source].insert(direction.target);
    targets.try_emplace(direction.target);
  }
  ordered_json all = ordered_json::array();
  for (const auto& [code, to] : targets) {
    all.push_back({{"code", code}, {"name", language_name(code)}, {"targets", to}});
  }
  return json_answer(all);
}

Answer libre_settings(std::span<const Direction> directions, bool needs_key) {
  const std::string target = directions.empty() ? "" : directions[0].target;
  return json_answer({{"apiKeys", needs_key},
                      {"charLimit", -1},
                      {"filesTranslation", false},
                      {"frontendTimeout", 500},
                      {"keyRequired", needs_key},
                      {"language",
                       {{"source", {{"code", kAuto}, {"name", "Auto Detect"}}},
                        {"target", {{"code", target}, {"name", language_name(target)}}}}},
                      {"suggestions", false},
                      {"supportedFilesFormat", ordered_json::array()}});
}

}  // namespace residual::serve
