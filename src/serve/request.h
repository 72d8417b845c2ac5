#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/translator.h"

// What POST /translate takes and gives, apart from HTTP.
namespace residual::serve {

struct TranslationRequest {
  std::vector<std::string> texts;     // each of one line or more
  bool is_list = false;               // or one text that stands by itself
  std::vector<std::string> prefixes;  // none, one for all texts, or one for each
  std::string from, to;               // languages; empty if the model leaves no choice
  bool details = false;               // also scores, pieces and so on of every line
  bool has_terms = false;             // its own, none perhaps, instead of the server's
  std::vector<decode::Term> terms;    // that translations keep to
  int64_t max_length = 0;             // tokens before </s>, at most; 0: by the search's two keys
  decode::SearchOptions search;
};

void fields(ConfigVisitor& visit, TranslationRequest& request);

// {"text": "...", "beam": 4}, or a list of texts. What it does not mention is as in `defaults`.
TranslationRequest parse_json(std::string_view body, const decode::SearchOptions& defaults);

// The body is the text, and the URL's query may have the keys of the JSON form.
TranslationRequest parse_text(std::string_view body,
                              const std::multimap<std::string, std::string>& query,
                              const decode::SearchOptions& defaults);

// The lines of a request's texts, in order. They are parts of the request, which must live longer:
// a prefix for all of thousands of texts is there once.
struct Line {
  size_t text;    // index
  size_t number;  // in its text, from 1
  std::string_view source, prefix;
};
std::vector<Line> lines_of(const TranslationRequest& request);
std::vector<Line> lines_of(TranslationRequest&& request) = delete;
int64_t count_lines(const TranslationRequest& request);
// At most so many numbers, about, has the attention that comes with all translations: wanted, or
// needed to replace <unk>. A coverage penalty's is the search's own, and gone with each sentence.
double attention_size(const TranslationRequest& request);

// The answers, given the lines' translations.
std::string answer_json(const TranslationRequest& request, std::span<const Line> lines,
                        std::span<const decode::Translation> translations);
std::string answer_text(std::span<const decode::Translation> translations);

}  // namespace residual::serve
