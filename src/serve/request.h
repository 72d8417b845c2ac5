#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/translator.h"

// Parsing of requests to POST /translate and formatting of their answers, independent of HTTP.
namespace residual::serve {

struct TranslationRequest {
  std::vector<std::string> texts;     // each has one or more lines
  bool is_list = false;               // "text" was a list, not a string
  std::vector<std::string> prefixes;  // none, one for all texts, or one for each
  std::string from, to;               // languages; may be empty if the model has one direction
  bool details = false;               // return scores, pieces and other details of every line
  bool has_terms = false;             // `terms`, possibly empty, replace the server's
  std::vector<decode::Term> terms;    // terminology
  int64_t max_length = 0;  // maximum tokens before </s>; 0: max_length_factor and _offset
  decode::TextOptions lines;
  decode::SearchOptions search;

  // Each text is one line.
  bool is_document() const { return lines.markup == text::Markup::html; }
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
  fields(visit, r.lines);
  fields(visit, r.search);
}

// Parses {"text": "...", "beam": 4}, or a list of texts. Missing keys take their values from
// `defaults`.
TranslationRequest parse_json(std::string_view body, const decode::SearchOptions& defaults);

// Parses a plain-text request: the body is the text; the URL's query may contain the keys of the
// JSON form.
TranslationRequest parse_text(std::string_view body,
                              const std::multimap<std::string, std::string>& query,
                              const decode::SearchOptions& defaults);

// The lines of a request's texts, in order. The views point into the request, which must outlive
// them; a prefix shared by thousands of texts is stored once.
struct Line {
  size_t text;    // index
  size_t number;  // in its text, from 1
  std::string_view source, prefix;
};
std::vector<Line> lines_of(const TranslationRequest& request);
std::vector<Line> lines_of(TranslationRequest&& request) = delete;
int64_t count_lines(const TranslationRequest& request);
// Estimates an upper bound on the number of attention weights returned with all translations,
// because they are requested or needed to replace <unk>. The attention of a coverage penalty is not
// counted: the search frees it after each sentence.
double attention_size(const TranslationRequest& request);

// Format the answer from the lines' translations.
std::string answer_json(const TranslationRequest& request, std::span<const Line> lines,
                        std::span<const decode::Translation> translations);
std::string answer_text(std::span<const decode::Translation> translations);

}  // namespace residual::serve
