#include "decode/terminology.h"

#include <algorithm>

#include "base/error.h"
#include "text/characters.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace residual::decode {
namespace {

std::u32string lowered(std::u32string text) {
  for (char32_t& c : text) c = text::lower(c);
  return text;
}

// Whether words end or begin between this character and the one before.
bool is_boundary(std::u32string_view text, size_t at) {
  return at == 0 || at == text.size() || !text::is_spaced_letter(text[at - 1]) ||
         !text::is_spaced_letter(text[at]);
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \r") - begin + 1);
}

}  // namespace

void fields(ConfigVisitor& visit, Term& t) {
  visit("source", t.source, "an expression of the source, in whole words");
  visit("target", t.target, "what every translation of a text with it contains");
}

Terminology::Terminology(std::vector<Term> terms)
    : Terminology(std::move(terms),
                  [](size_t number) { return fmt::format("term {}", number + 1); }) {}

Terminology::Terminology(std::vector<Term> terms, const Place& place)
    : terms_(std::move(terms)), nodes_(1) {
  for (size_t number = 0; number < terms_.size(); ++number) {
    Term& term = terms_[number];
    term = {std::string(trimmed(term.source)), std::string(trimmed(term.target))};
    require(!term.source.empty() && !term.target.empty(), "a term needs a source and a target");
    const std::u32string source = text::to_code_points(term.source), lower = lowered(source);
    require(source.size() <= kLongest, "a term has {} characters, at most {} are looked for",
            source.size(), kLongest);
    int32_t at = 0;
    for (const char32_t c : lower) {
      const auto [next, is_new] = nodes_[at].next.emplace(c, static_cast<int32_t>(nodes_.size()));
      at = next->second;
      if (is_new) nodes_.emplace_back();
    }
    const auto index = static_cast<int32_t>(number);
    int32_t& known = source != lower ? nodes_[at].exact.emplace(source, index).first->second
                                     : nodes_[at].in_any_case;
    if (known == kNone) known = index;
    const Term& first = terms_[known];
    require(first.target == term.target,
            "{}: \"{}\" is called \"{}\", but \"{}\" at {}; leave one of them out", place(number),
            term.source, term.target, first.target, place(known));
  }
}

Terminology Terminology::read(const fs::path& file) {
  std::vector<Term> terms;
  std::vector<uint64_t> places;
  text::LineCursor lines(file);
  uint64_t number = 0;
  while (const auto line = lines.next()) {
    ++number;
    if (trimmed(*line).empty()) continue;
    const size_t tab = line->find('\t');
    const bool has_both = tab != std::string::npos && !trimmed(line->substr(0, tab)).empty() &&
                          !trimmed(line->substr(tab + 1)).empty() &&
                          line->find('\t', tab + 1) == std::string::npos;
    require(has_both, "{}:{}: expected a term of the source, a tab, and what it is called",
            file.string(), number);
    terms.push_back({line->substr(0, tab), line->substr(tab + 1)});
    places.push_back(number);
  }
  require(!terms.empty(), "{}: has no term", file.string());
  return {std::move(terms),
          [&](size_t term) { return fmt::format("{}:{}", file.string(), places[term]); }};
}

Terminology::Match Terminology::longest(const std::u32string& text, const std::u32string& lower,
                                        size_t begin) const {
  Match best;
  int32_t at = 0;
  for (size_t end = begin; end < text.size();) {
    const auto next = nodes_[at].next.find(lower[end++]);
    if (next == nodes_[at].next.end()) break;
    at = next->second;
    const Node& node = nodes_[at];
    if (!is_boundary(text, end)) continue;
    if (node.in_any_case != kNone) best = {node.in_any_case, end};
    if (node.exact.empty()) continue;
    const auto exact = node.exact.find(text.substr(begin, end - begin));
    if (exact != node.exact.end()) best = {exact->second, end};
  }
  return best;
}

std::vector<std::string> Terminology::in(std::string_view line) const {
  std::vector<std::string> found;
  if (terms_.empty()) return found;
  const std::u32string text = text::to_code_points(line), lower = lowered(text);
  std::vector<bool> is_found(terms_.size());
  for (size_t at = 0; at < text.size();) {
    const Match match = is_boundary(text, at) ? longest(text, lower, at) : Match();
    at = match.term == kNone ? at + 1 : match.end;
    if (match.term == kNone || is_found[match.term]) continue;
    is_found[match.term] = true;
    found.push_back(terms_[match.term].target);
  }
  return found;
}

}  // namespace residual::decode
