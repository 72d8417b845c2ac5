#include "text/tokenizer.h"

#include <algorithm>

#include "text/characters.h"
#include "text/unicode.h"

namespace residual::text {
namespace {

// A code point with its class above it, so that a line is looked up once.
using Symbol = uint32_t;

constexpr Symbol symbol(char32_t c, uint8_t character_class) {
  return static_cast<Symbol>(c) | static_cast<Symbol>(character_class) << 24;
}
constexpr char32_t code(Symbol s) { return s & 0x1FFFFF; }
constexpr bool is(Symbol s, uint8_t bits) { return (s >> 24 & bits) != 0; }

constexpr Symbol kBlank = symbol(' ', kSpace);
constexpr Symbol kAt = symbol('@', 0);
// One dot of a run of two or more, which is a token of its own and never ends a word.
constexpr Symbol kRunDot = symbol(0x110000, kAlphabetic | kAlphanumeric);

// A number that is part of a word: fractions, superscripts and the like are symbols.
constexpr bool is_joined_number(Symbol s) { return is(s, kNumber) && is(s, kAlphanumeric); }

bool is_inner_hyphen(const std::vector<Symbol>& text, size_t at) {
  return code(text[at]) == '-' && at > 0 && is(text[at - 1], kAlphanumeric) &&
         at + 1 < text.size() && is(text[at + 1], kAlphanumeric);
}

// Where the run of equal symbols that begins at `at` ends.
size_t run_end(const std::vector<Symbol>& text, size_t at) {
  size_t end = at;
  while (end < text.size() && text[end] == text[at]) ++end;
  return end;
}

// Both append what becomes of the run at `at` and return its end.
size_t append_dots(const std::vector<Symbol>& in, size_t at, std::vector<Symbol>& out) {
  const size_t end = run_end(in, at);
  if (end == at + 1) {
    out.push_back(in[at]);
  } else {
    out.push_back(kBlank);
    out.insert(out.end(), end - at, kRunDot);
    out.push_back(kBlank);
  }
  return end;
}

// The script's substitutions in closed form: the last of a run of commas stays with a number after
// it if the run is odd and follows a number (or begins the line), or is even and follows anything
// else. All other commas become tokens.
size_t append_commas(const std::vector<Symbol>& in, size_t at, std::vector<Symbol>& out) {
  const size_t end = run_end(in, at);
  const bool after_number = out.empty() || is(out.back(), kNumber);
  const bool odd = (end - at) % 2 == 1;
  const bool stays = end < in.size() && is_joined_number(in[end]) && after_number == odd;
  if (stays && end == at + 1) {
    out.push_back(in[at]);
    return end;
  }
  for (size_t i = at; i < end; ++i) out.insert(out.end(), {kBlank, in[i]});
  if (!stays) out.push_back(kBlank);
  return end;
}

bool is_white_space(std::string_view line, const CharacterClasses& classes) {
  for (size_t at = 0; at < line.size();) {
    if (!(classes[next_code_point(line, at)] & kSpace)) return false;
  }
  return true;
}

void append_escaped(char32_t c, std::string& out) {
  switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '|':
      out += "&#124;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '\'':
      out += "&apos;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '[':
      out += "&#91;";
      break;
    case ']':
      out += "&#93;";
      break;
    default:
      append_utf8(out, c);
  }
}

}  // namespace

struct Tokenizer::Scratch {
  std::vector<Symbol> text, next, group, rewritten;
  std::string word;
};

// "left ' right" gets spaces before or after the apostrophe. A class matches when `mask` selects
// exactly `value` of it.
struct Tokenizer::ApostropheRule {
  struct Side {
    uint8_t mask, value;
    char32_t only = 0;  // this character alone, if not 0
    bool matches(Symbol s) const {
      return (s >> 24 & mask) == value && (only == 0 || code(s) == only);
    }
  };
  Side left, right;
  bool space_before, space_after;

  // Rewrites every match from left to right; like Perl's s///g, a match uses up both neighbours.
  void apply(const std::vector<Symbol>& in, std::vector<Symbol>& out) const {
    out.clear();
    for (size_t at = 0; at < in.size();) {
      const bool match = at + 2 < in.size() && code(in[at + 1]) == '\'' && left.matches(in[at]) &&
                         right.matches(in[at + 2]);
      out.push_back(in[at]);
      if (match) {
        if (space_before) out.push_back(kBlank);
        out.push_back(in[at + 1]);
        if (space_after) out.push_back(kBlank);
        out.push_back(in[at + 2]);
      }
      at += match ? 3 : 1;
    }
  }
};

const std::vector<Tokenizer::ApostropheRule>* Tokenizer::apostrophe_rules(
    const std::string& language) {
  using Rules = std::vector<ApostropheRule>;
  constexpr ApostropheRule::Side letter{kAlphabetic, kAlphabetic};
  constexpr ApostropheRule::Side other{kAlphabetic, 0};
  constexpr ApostropheRule::Side symbol_only{kAlphabetic | kNumber, 0};
  constexpr ApostropheRule::Side number{kNumber, kNumber};
  constexpr ApostropheRule::Side letter_s{0, 0, 's'};
  static const Rules english{{other, other, true, true},
                             {symbol_only, letter, true, true},
                             {letter, other, true, true},
                             {letter, letter, true, false},
                             {number, letter_s, true, false}};
  static const Rules glottal{
      {other, other, true, true}, {other, letter, true, true}, {letter, other, true, true}};
  static const Rules french{glottal[0], glottal[1], glottal[2], {letter, letter, false, true}};
  if (language == "en") return &english;
  if (language == "fr" || language == "it" || language == "ga" || language == "ca") return &french;
  if (language == "so" || language == "tdt") return &glottal;
  return nullptr;
}

Tokenizer::Tokenizer(const TokenizerOptions& options)
    : options_(options), abbreviations_(options.language) {
  const std::string language = without_region(options.language);
  rules_ = apostrophe_rules(language);
  colon_joins_ = language == "fi" || language == "sv";
  middle_dot_joins_ = language == "ca";
  apostrophe_joins_before_lower_case_ = language == "tdt";
}

void Tokenizer::operator()(std::string_view line, std::string& out) const {
  thread_local Scratch scratch;
  if (is_white_space(line, CharacterClasses::unicode14())) {
    out += line;
    return;
  }
  clean(line, scratch);
  separate(scratch);
  if (rules_) contract(scratch);
  words(scratch, out);
}

// Leaves single spaces between words and none at the ends.
void Tokenizer::clean(std::string_view line, Scratch& scratch) const {
  const auto& classes = CharacterClasses::unicode14();
  auto& text = scratch.text;
  text.clear();
  bool blank = false;
  for (size_t at = 0; at < line.size();) {
    const char32_t c = next_code_point(line, at);
    const Symbol s = symbol(c, classes[c]);
    if (is(s, kSpace)) {
      blank = true;
    } else if (c >= 0x20) {
      if (blank && !text.empty()) text.push_back(kBlank);
      blank = false;
      text.push_back(s);
    }
  }
}

// Returns whether the symbol at `at`, which is not a letter or digit, is part of its word.
bool Tokenizer::joins(const std::vector<uint32_t>& text, size_t at) const {
  const bool before_lower_case = at + 1 < text.size() && is(text[at + 1], kLowercaseLetter);
  switch (code(text[at])) {
    case '`':
    case '-':
      return true;
    case '\'':
      return rules_ && (before_lower_case || !apostrophe_joins_before_lower_case_);
    case ':':
      return colon_joins_ && before_lower_case;
    case U'·':
      return middle_dot_joins_;
    default:
      return false;
  }
}

void Tokenizer::separate(Scratch& scratch) const {
  const auto& in = scratch.text;
  auto& out = scratch.next;
  out.clear();
  for (size_t at = 0; at < in.size();) {
    const Symbol s = in[at];
    if (code(s) == '.') {
      at = append_dots(in, at, out);
      continue;
    }
    if (code(s) == ',') {
      at = append_commas(in, at, out);
      continue;
    }
    if (options_.aggressive && is_inner_hyphen(in, at)) {
      out.insert(out.end(), {kBlank, kAt, s, kAt, kBlank});
    } else if (is(s, kAlphanumeric | kSpace) || joins(in, at)) {
      out.push_back(s);
    } else {
      out.insert(out.end(), {kBlank, s, kBlank});
    }
    ++at;
  }
  std::swap(scratch.text, scratch.next);
}

// Apostrophes no more than two apart share neighbours and are rewritten together; others do not
// see each other.
void Tokenizer::contract(Scratch& scratch) const {
  const auto& in = scratch.text;
  auto& out = scratch.next;
  out.clear();
  const auto apostrophe_from = [&in](size_t at) {
    while (at < in.size() && code(in[at]) != '\'') ++at;
    return at;
  };
  size_t copied = 0;
  for (size_t first = apostrophe_from(0); first < in.size();) {
    size_t last = first;
    size_t following = apostrophe_from(last + 1);
    while (following < in.size() && following <= last + 2) {
      last = following;
      following = apostrophe_from(last + 1);
    }
    const size_t begin = first == 0 ? 0 : first - 1;
    const size_t end = std::min(last + 2, in.size());
    const auto at = [&in](size_t i) { return in.begin() + static_cast<std::ptrdiff_t>(i); };
    out.insert(out.end(), at(copied), at(begin));
    scratch.group.assign(at(begin), at(end));
    for (const ApostropheRule& rule : *rules_) {
      rule.apply(scratch.group, scratch.rewritten);
      std::swap(scratch.group, scratch.rewritten);
    }
    out.insert(out.end(), scratch.group.begin(), scratch.group.end());
    copied = end;
    first = following;
  }
  if (copied == 0) return;
  out.insert(out.end(), in.begin() + static_cast<std::ptrdiff_t>(copied), in.end());
  std::swap(scratch.text, scratch.next);
}

void Tokenizer::words(Scratch& scratch, std::string& out) const {
  const auto& text = scratch.text;
  const auto skip_blanks = [&text](size_t at) {
    while (at < text.size() && text[at] == kBlank) ++at;
    return at;
  };
  const auto append = [&](size_t begin, size_t end, bool escape) {
    for (size_t i = begin; i < end; ++i) {
      const char32_t c = text[i] == kRunDot ? U'.' : code(text[i]);
      escape ? append_escaped(c, out) : append_utf8(out, c);
    }
  };
  // Whether the stop after text[begin, stop) is part of that word; `next` begins the word after.
  const auto keeps_stop = [&](size_t begin, size_t stop, size_t next) {
    if (next == text.size()) return false;
    if (is(text[next], kLowercase)) return true;
    const auto any = [&](auto&& holds) {
      return std::any_of(text.begin() + static_cast<std::ptrdiff_t>(begin),
                         text.begin() + static_cast<std::ptrdiff_t>(stop), holds);
    };
    if (any([](Symbol s) { return code(s) == '.'; }) &&
        any([](Symbol s) { return is(s, kAlphabetic); })) {
      return true;
    }
    scratch.word.clear();
    for (size_t i = begin; i < stop; ++i) append_utf8(scratch.word, code(text[i]));
    const auto kind = abbreviations_.stop_after(scratch.word);
    return kind == Abbreviations::Stop::belongs_to_word ||
           (kind == Abbreviations::Stop::belongs_before_number && code(text[next]) >= '0' &&
            code(text[next]) <= '9');
  };

  bool first = true;
  for (size_t begin = skip_blanks(0); begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && text[end] != kBlank) ++end;
    const size_t next = skip_blanks(end);
    if (!first) out += ' ';
    first = false;
    if (end - begin >= 2 && code(text[end - 1]) == '.' && !keeps_stop(begin, end - 1, next)) {
      append(begin, end - 1, options_.escape);
      out += " .";
    } else if (next == text.size() && end - begin >= 2 && code(text[end - 2]) == '.' &&
               code(text[end - 1]) == '\'') {
      // A stop and an apostrophe that end the line come apart last, after spaces were tidied:
      // hence the space after them, and two before them if they stand alone.
      append(begin, end - 2, options_.escape);
      out += " . ";
      append(end - 1, end, options_.escape);
      out += ' ';
    } else {
      append(begin, end, options_.escape);
    }
    begin = next;
  }
}

}  // namespace residual::text
