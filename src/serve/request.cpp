#include "serve/request.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/config_json.h"
#include "base/error.h"
#include "decode/json.h"
#include "text/unicode.h"

namespace residual::serve {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

void check_key(const std::string& key, bool is_new) {
  constexpr size_t kLongestKey = 64;
  require(key.size() <= kLongestKey, "unknown key of {} bytes", key.size());
  require(is_new, "{}: given twice", key);
}

json parsed(std::string_view text, const char* what) {
  std::vector<std::set<std::string>> keys;  // of the enclosing objects
  const auto check_keys = [&](int, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      check_key(key, keys.back().insert(key).second);
    }
    return true;
  };
  try {
    return json::parse(text, check_keys);
  } catch (const json::parse_error& error) {
    fail("{} is not valid JSON at byte {}", what, error.byte);
  } catch (const json::out_of_range&) {
    fail("{} contains a number that is too large", what);
  }
}

void set_longest(const json& object, TranslationRequest& request) {
  if (request.max_length == 0) return;
  require(!object.contains("max_length_factor") && !object.contains("max_length_offset"),
          "max_length: stands instead of max_length_factor and max_length_offset");
  decode::limit_length(request.search, request.max_length);
}

// A single prefix applies to all texts; a list has one prefix per text.
void check_prefixes(const json& object, const TranslationRequest& request) {
  const bool is_list = object.contains("prefix") && object["prefix"].is_array();
  require(!is_list || request.prefixes.size() == request.texts.size(),
          "prefix: got {} prefixes for {} texts", request.prefixes.size(), request.texts.size());
}

// Term matching needs some hundred bytes of memory per byte of the terms.
void check_terms(const TranslationRequest& request) {
  constexpr size_t kMost = 64 << 10;  // bytes
  size_t bytes = 0;
  for (const auto& term : request.terms) bytes += term.source.size() + term.target.size();
  require(bytes <= kMost, "terms: total {} bytes, but at most {} are allowed", bytes, kMost);
  require(request.terms.empty() || !request.search.sampling.is_on,
          "terms: only allowed in beam search, not in sampling");
}

// A NUL byte ends a text in some libraries: what follows it would be lost.
void check_no_nul(std::span<const std::string> texts, const char* what) {
  for (const auto& text : texts) {
    require(text.find('\0') == std::string::npos, "{}: contains the character U+0000; remove it",
            what);
  }
}

void read(const json& object, TranslationRequest& request, const decode::SearchOptions& defaults) {
  request.search = defaults;
  const int64_t layer = defaults.attention_layer;
  read_json(object, [&](ConfigVisitor& visit) { fields(visit, request); });
  request.details |= request.search.n_best > 1 || request.search.with_attention;
  check_no_nul(request.texts, "text");
  check_no_nul(request.prefixes, "prefix");
  require(request.search.attention_layer == layer, "attention_layer: the server always uses {}",
          layer);
  request.has_terms = object.contains("terms");
  check_prefixes(object, request);
  set_longest(object, request);
  decode::check_sampling(request.search.sampling, defaults.sampling);
  decode::check(request.search);
  check_terms(request);
}

// Parses a query value: a number or boolean if it looks like one and the key allows it.
json value_of(const std::string& key, const std::string& text) {
  if (key == "from" || key == "to" || key == "prefix") return text;
  json value = json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : json(text);
}

// Moves the texts out of the object first: there may be a hundred thousand, and parsing of the
// other keys is slower.
void take_texts(json& object, TranslationRequest& request) {
  require(object.contains("text"), "text: missing; a request is {{\"text\": \"...\"}}");
  json texts = std::move(object["text"]);
  object.erase("text");
  request.is_list = texts.is_array();
  if (!request.is_list) texts = json::array({std::move(texts)});
  for (auto& text : texts) {
    require(text.is_string(), "text: expected a string or a list of strings, got {}",
            text.type_name());
    request.texts.push_back(std::move(text.get_ref<std::string&>()));
  }
}

void check_utf8(std::string_view text, const char* what) {
  const size_t invalid = text::find_invalid_utf8(text);
  require(invalid == std::string_view::npos, "{} is not valid UTF-8 at byte {}", what, invalid + 1);
}

// Of a document, the only one.
std::string_view next_line(std::string_view& rest, bool is_document) {
  if (is_document) return std::exchange(rest, {});
  const size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

TranslationRequest parse_json(std::string_view body, const decode::SearchOptions& defaults) {
  json object = parsed(body, "the request");
  require(object.is_object(), "expected a JSON object, got {}", object.type_name());
  TranslationRequest request;
  take_texts(object, request);
  read(object, request, defaults);
  return request;
}

TranslationRequest parse_text(std::string_view body,
                              const std::multimap<std::string, std::string>& query,
                              const decode::SearchOptions& defaults) {
  body = text::without_byte_order_mark(body);
  check_utf8(body, "the text");
  json object = json::object();
  for (const auto& [key, value] : query) {
    check_utf8(key, "a key");
    check_utf8(value, "a value");
    check_key(key, !object.contains(key));
    require(key != "text" && key != "details", "{}: not allowed in a plain-text request", key);
    object[key] = value_of(key, value);
  }
  TranslationRequest request;
  if (!body.empty()) request.texts.emplace_back(body);
  read(object, request, defaults);
  require(!request.details, "a plain-text request cannot return n_best or attention; send JSON");
  return request;
}

std::vector<Line> lines_of(const TranslationRequest& request) {
  std::vector<Line> lines;
  for (size_t i = 0; i < request.texts.size(); ++i) {
    std::string_view prefix;
    if (!request.prefixes.empty()) {
      prefix = request.prefixes[request.prefixes.size() == 1 ? 0 : i];
    }
    std::string_view rest = request.texts[i];
    size_t number = 0;
    do {
      lines.push_back({i, ++number, next_line(rest, request.is_document()), prefix});
      prefix = {};
    } while (!rest.empty());
  }
  return lines;
}

int64_t count_lines(const TranslationRequest& request) {
  if (request.is_document()) return static_cast<int64_t>(request.texts.size());
  int64_t lines = 0;
  for (const auto& text : request.texts) {
    lines += std::ranges::count(text, '\n') + (text.ends_with('\n') ? 0 : 1);
  }
  return lines;
}

double attention_size(const TranslationRequest& request) {
  if (!request.search.gives_attention()) return 0;
  double size = 0;
  for (const auto& text : request.texts) {
    for (std::string_view rest = text; !rest.empty();) {
      const auto pieces = static_cast<double>(
          next_line(rest, request.is_document()).size());  // an upper bound for both sides
      size += pieces * pieces;
    }
  }
  return size * static_cast<double>(request.search.n_best);
}

std::string answer_json(const TranslationRequest& request, std::span<const Line> lines,
                        std::span<const decode::Translation> translations) {
  std::vector<std::string> texts(request.texts.size());
  ordered_json details = ordered_json::array(), warnings = ordered_json::array();
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string& text = texts[lines[i].text];
    if (lines[i].number > 1) text += '\n';
    text += translations[i].outputs[0].text;
    ordered_json line = {{"text", lines[i].text}, {"line", lines[i].number}};
    if (const auto& doubts = translations[i].outputs[0].doubts; doubts.any()) {
      warnings.push_back(line);
      warnings.back()["warnings"] = doubts.names();
    }
    if (!request.details) continue;
    line.update(decode::to_json(translations[i], request.search.with_attention));
    details.push_back(std::move(line));
  }
  ordered_json answer;
  if (request.is_list) {
    answer["text"] = texts;
  } else {
    answer["text"] = texts[0];
  }
  if (!warnings.empty()) answer["warnings"] = std::move(warnings);
  if (request.details) answer["lines"] = std::move(details);
  return decode::dump(answer) + '\n';
}

std::string answer_text(std::span<const decode::Translation> translations) {
  std::string text;
  for (const auto& translation : translations) text += translation.outputs[0].text + '\n';
  return text;
}

}  // namespace residual::serve
