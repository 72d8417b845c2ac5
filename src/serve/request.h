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
  bool details = false;
  bool has_terms = false;           // its own, none perhaps, instead of the server's
  std::vector<decode::Term> terms;  // that translations keep to
  int64_t max_length = 0;           // 0: see the search's two keys
  decode::SearchOptions search;
};

inline void fields(ConfigVisitor& visit, TranslationRequest& r) {
  visit("text", r.texts, "text to translate, line by line, or a list of texts");
  visit("from", r.from, "source language, if the model has several");
  visit("to", r.to, "target language, if the model has several");
  visit("prefix", r.prefixes,
        "words that the translation of a text's first line begins with: one string for all texts, "
        "or a list with one per text");
  visit.tables("terms", r.terms,
               "expressions and their translations, instead of the server's terms; at most 65,536 "
               "bytes of text");
  visit(
      "details", r.details,
      "also give lines: scores and pieces of every line, as n_best above 1 and with_attention do");
  visit("max_length", r.max_length, decode::kMaxLength, {.min = 0});
  fields(visit, r.search);
}

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
