#include "fetch/gettext.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "fetch/markup.h"
#include "fetch/plausible.h"
#include "text/unicode.h"

namespace residual::fetch {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_upper(c) || (c >= 'a' && c <= 'z'); }
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80;
}

// Reads a catalogue line by line; `string_` is where a line that is only a string goes on.
class Parser {
 public:
  Parser(const std::string& name, const std::function<void(const Message&)>& body)
      : name_(name), body_(body) {}

  void line(std::string_view line) {
    ++number_;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    while (line.starts_with(' ') || line.starts_with('\t')) line.remove_prefix(1);
    if (line.empty()) return;
    if (line.front() == '#') return comment(line);
    if (line.front() == '"') {
      if (!string_) malformed("a string without a keyword");
      *string_ += unquoted(line);
      return;
    }
    keyword(line);
  }

  void finish() {
    if (has_id_ && !message_.strings.empty()) body_(message_);
    message_ = {};
    has_id_ = false;
    string_ = nullptr;
  }

 private:
  [[noreturn]] void malformed(std::string_view what) const {
    fail("{}:{}: expected a message catalogue, found {}", name_, number_, what);
  }

  // Comments stand before the message they are about.
  void comment(std::string_view line) {
    if (!message_.strings.empty()) finish();
    if (line.starts_with("#,") && line.find("fuzzy") != std::string_view::npos) {
      message_.is_fuzzy = true;
    }
  }

  void keyword(std::string_view line) {
    const size_t quote = std::min(line.find('"'), line.size());
    std::string_view word = line.substr(0, quote);
    while (word.ends_with(' ') || word.ends_with('\t')) word.remove_suffix(1);
    if ((word == "msgid" || word == "msgctxt") && !message_.strings.empty()) finish();
    if (word == "msgctxt") {
      string_ = &context_;
    } else if (word == "msgid") {
      has_id_ = true;
      string_ = &message_.id;
    } else if (word == "msgid_plural") {
      string_ = &message_.plural;
    } else if (word == "msgstr" || (word.starts_with("msgstr[") && word.ends_with(']'))) {
      string_ = &message_.strings.emplace_back();
    } else {
      malformed("a line that is not a string, comment or keyword");
    }
    string_->clear();
    *string_ += unquoted(line.substr(quote));
  }

  std::string unquoted(std::string_view quoted) const {
    if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') {
      malformed("an unterminated string");
    }
    quoted = quoted.substr(1, quoted.size() - 2);
    std::string out;
    for (size_t i = 0; i < quoted.size(); ++i) {
      if (quoted[i] != '\\' || i + 1 == quoted.size()) {
        out += quoted[i];
        continue;
      }
      const char c = quoted[++i];
      // Other escapes of C (\a, \033) are not text: a blank replaces them.
      out += c == '"' || c == '\\' ? c : c == 'n' ? '\n' : ' ';
    }
    return out;
  }

  const std::string& name_;
  const std::function<void(const Message&)>& body_;
  Message message_;
  std::string context_;
  std::string* string_ = nullptr;
  bool has_id_ = false;
  uint64_t number_ = 0;
};

// po4a's marks in man pages and POD: B<bold I<and italic>> -> bold and italic, E<lt> -> <.
class FontMarks {
 public:
  static std::string removed(std::string_view text) {
    size_t at = 0;
    return FontMarks(text).until_close(at, 0);
  }

 private:
  static constexpr int kDeepest = 8;

  explicit FontMarks(std::string_view text) : text_(text) {}

  // Length of "B<" or "CW<" at `at`, or 0.
  size_t mark_length(size_t at) const {
    if (at > 0 && is_word(text_[at - 1])) return 0;
    size_t end = at;
    while (end < text_.size() && end < at + 2 && is_upper(text_[end])) ++end;
    return end > at && end < text_.size() && text_[end] == '<' ? end + 1 - at : 0;
  }

  std::string until_close(size_t& at, int depth) const {
    std::string out;
    while (at < text_.size()) {
      const size_t mark = depth < kDeepest ? mark_length(at) : 0;
      if (mark > 0) {
        const bool is_escape = text_[at] == 'E';
        at += mark;
        const std::string inner = until_close(at, depth + 1);
        out += !is_escape ? inner : inner == "lt" ? "<" : inner == "gt" ? ">" : " ";
      } else if (depth > 0 && text_[at] == '>') {
        ++at;
        return out;
      } else {
        out += text_[at++];
      }
    }
    return out;
  }

  std::string_view text_;
};

void remove_roff_escapes(std::string& text) {
  if (text.find('\\') == std::string::npos) return;
  for (const std::string_view font : {"\\fB", "\\fI", "\\fR", "\\fP", "\\&", "\\/", "\\,", "\\:"}) {
    remove_all(text, font);
  }
  replace_all(text, "\\-", "-");
  replace_all(text, "\\(aq", "'");
  replace_all(text, "\\(dq", "\"");
  replace_all(text, "\\~", " ");
  replace_all(text, "\\ ", " ");
}

std::string without_markup(std::string_view message) {
  std::string text = without_tags(FontMarks::removed(message));
  remove_roff_escapes(text);
  // LibreOffice writes its name so.
  replace_all(text, "%PRODUCTNAME", "LibreOffice");
  replace_all(text, "$[officename]", "LibreOffice");
  return with_single_blanks(text);
}

// Where the only `mark` before a letter or digit is; npos if there is none or if there are several.
size_t only_mark(std::string_view text, char mark) {
  const size_t at = text.find(mark);
  const bool one =
      at != std::string_view::npos && text.find(mark, at + 1) == std::string_view::npos;
  return one && at + 1 < text.size() && is_word(text[at + 1]) ? at : std::string_view::npos;
}

std::string_view word_around(std::string_view text, size_t at) {
  const size_t blank = text.rfind(' ', at);
  const size_t start = blank == std::string_view::npos ? 0 : blank + 1;
  return text.substr(start, std::min(text.find(' ', at), text.size()) - start);
}

// "datei (_D)", as languages without Latin letters have it.
void remove_bracketed(std::string& text, char mark) {
  const size_t at = text.find(std::string("(") + mark);
  if (at == std::string::npos || at + 3 >= text.size() || text[at + 3] != ')') return;
  text.erase(at, 4);
}

// A mark in a word that both languages have is part of a name (max_size), not an accelerator.
void remove_accelerators(SentencePair& pair) {
  for (const char mark : {'_', '~', '&'}) {
    const size_t first = only_mark(pair.first, mark);
    if (first == std::string_view::npos) continue;
    remove_bracketed(pair.second, mark);
    const size_t second = only_mark(pair.second, mark);
    const bool absent = pair.second.find(mark) == std::string::npos;
    if (!absent && (second == std::string_view::npos ||
                    word_around(pair.first, first) == word_around(pair.second, second))) {
      continue;
    }
    pair.first.erase(first, 1);
    if (!absent) pair.second.erase(second, 1);
  }
}

// %s, %1$d, %(name)s, {0}, $name: those a program would fill in, sorted; an argument's number
// (%1$) and width do not matter.
std::vector<std::string> placeholders(std::string_view text) {
  std::vector<std::string> found;
  size_t close = 0;  // of the last { that was looked at
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      size_t end = i + 1;
      while (end < text.size() && (is_digit(text[end]) || text[end] == '$' || text[end] == '.' ||
                                   text[end] == '-' || text[end] == '#' || text[end] == 'l')) {
        ++end;
      }
      if (end < text.size() && is_letter(text[end])) found.push_back({'%', text[end]});
      i = std::max(i, end - 1);
    } else if (text[i] == '{' && close != std::string_view::npos) {
      close = text.find('}', i);
      if (close == std::string_view::npos) continue;
      found.emplace_back(text.substr(i, close + 1 - i));
      i = close;
    } else if (text[i] == '$' && i + 1 < text.size() && is_letter(text[i + 1])) {
      size_t end = i + 1;
      while (end < text.size() && (is_letter(text[end]) || text[end] == '_')) ++end;
      found.emplace_back(text.substr(i, end - i));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

void add_pair(const std::string& first, const std::string& second, std::vector<SentencePair>& out) {
  SentencePair pair{without_markup(first), without_markup(second)};
  remove_accelerators(pair);
  const bool is_prose =
      pair.first.find('\\') == std::string::npos && pair.second.find('\\') == std::string::npos;
  if (is_prose && placeholders(pair.first) == placeholders(pair.second) && is_plausible(pair)) {
    out.push_back(std::move(pair));
  }
}

}  // namespace

void parse_catalogue(std::string_view text, const std::string& name,
                     const std::function<void(const Message&)>& body) {
  Parser parser(name, body);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    parser.line(text.substr(at, end - at));
    at = end + 1;
  }
  parser.finish();
}

std::vector<SentencePair> message_pairs(const Message& message) {
  std::vector<SentencePair> pairs;
  if (message.is_fuzzy || message.id.empty() || message.strings.empty()) return pairs;
  // A language with one form for all numbers has the plural there; the first of several forms is
  // the singular, the last the most plural.
  if (message.plural.empty() || message.strings.size() > 1) {
    add_pair(message.id, message.strings.front(), pairs);
  }
  if (!message.plural.empty()) add_pair(message.plural, message.strings.back(), pairs);
  return pairs;
}

bool is_catalogue_of(std::string_view path, std::string_view language) {
  if (!path.ends_with(".po")) return false;
  path.remove_suffix(3);
  std::string wanted(language);
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    std::string part(path.substr(at, end - at));
    std::replace(part.begin(), part.end(), '-', '_');
    if (part == wanted) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace residual::fetch
