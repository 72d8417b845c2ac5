#include "text/markup/markup.h"

#include <unicode/normalizer2.h>
#include <unicode/regex.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/error.h"
#include "text/markup/html_tags.h"
#include "text/unicode.h"

namespace residual::text {
namespace {

// URLs (without the punctuation that follows them), e-mail addresses, and the placeholders of
// format strings and templates. A % that follows a digit is a percentage. Lengths are bounded, and
// so is the time for any text.
constexpr const char* kProtected =
    R"((?:(?:https?|ftp|file)://|mailto:|www\.)(?:(?!&(?:quot|lt|gt|apos|\#39);)[^\s<>"]){0,2000})"
    R"((?:(?!&(?:quot|lt|gt|apos|\#39);)[^\s<>".,;:!?)\]}'])|)"
    R"([A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,63}|)"
    R"(\$?\{\{[^{}<>]{1,64}\}\}|[$%\#]?\{[^{}<>\s]{0,64}\}|)"
    R"((?<![0-9%])%(?:\([A-Za-z0-9_]{1,64}\))?(?:\d{1,2}\$)?[-+\#0]{0,4}\d{0,4}(?:\.\d{1,4})?(?:hh|ll|[hlzjtL])?)"
    R"([diouxXeEfFgGcsp@](?![A-Za-z])|(?<![0-9%])%\d{1,2}(?![0-9]))";

// Finds what stays in running text. One for each thread.
class Protected {
 public:
  Protected() {
    UErrorCode status = U_ZERO_ERROR;
    matcher_ =
        std::make_unique<icu::RegexMatcher>(icu::UnicodeString(kProtected, -1, US_INV), 0, status);
    require(U_SUCCESS(status), "cannot compile the pattern of placeholders ({})",
            u_errorName(status));
  }

  // Calls body(begin, end) for each, in order.
  template <class Body>
  void each(std::string_view text, const Body& body) {
    UErrorCode status = U_ZERO_ERROR;
    UText* const utf8 =
        utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &status);
    matcher_->reset(utf8);
    while (matcher_->find(status)) {
      body(static_cast<size_t>(matcher_->start64(status)),
           static_cast<size_t>(matcher_->end64(status)));
    }
    utext_close(utf8);
    require(U_SUCCESS(status), "cannot look for placeholders ({})", u_errorName(status));
  }

 private:
  std::unique_ptr<icu::RegexMatcher> matcher_;
};

struct Accent {
  std::string_view name;
  char32_t mark;
};
constexpr std::array<Accent, 8> kAccents = {{{"grave", 0x300},
                                             {"acute", 0x301},
                                             {"circ", 0x302},
                                             {"tilde", 0x303},
                                             {"uml", 0x308},
                                             {"ring", 0x30A},
                                             {"caron", 0x30C},
                                             {"cedil", 0x327}}};

// "uuml": a letter and an accent.
char32_t accented(std::string_view name) {
  for (const auto& [accent, mark] : kAccents) {
    if (name.size() != accent.size() + 1 || !name.ends_with(accent)) continue;
    UErrorCode status = U_ZERO_ERROR;
    const auto* const nfc = icu::Normalizer2::getNFCInstance(status);
    if (U_FAILURE(status)) return 0;
    const UChar32 made =
        nfc->composePair(static_cast<UChar32>(name[0]), static_cast<UChar32>(mark));
    return made < 0 ? 0 : static_cast<char32_t>(made);
  }
  return 0;
}

// The character that an entity without & and ; stands for, or 0.
char32_t entity_character(std::string_view name) {
  static const std::map<std::string_view, char32_t> known = {
      {"amp", '&'},      {"lt", '<'},        {"gt", '>'},        {"quot", '"'},
      {"apos", '\''},    {"nbsp", 0xA0},     {"szlig", 0xDF},    {"AElig", 0xC6},
      {"aelig", 0xE6},   {"Oslash", 0xD8},   {"oslash", 0xF8},   {"OElig", 0x152},
      {"oelig", 0x153},  {"ETH", 0xD0},      {"eth", 0xF0},      {"THORN", 0xDE},
      {"thorn", 0xFE},   {"iexcl", 0xA1},    {"iquest", 0xBF},   {"laquo", 0xAB},
      {"raquo", 0xBB},   {"ndash", 0x2013},  {"mdash", 0x2014},  {"lsquo", 0x2018},
      {"rsquo", 0x2019}, {"sbquo", 0x201A},  {"ldquo", 0x201C},  {"rdquo", 0x201D},
      {"bdquo", 0x201E}, {"hellip", 0x2026}, {"lsaquo", 0x2039}, {"rsaquo", 0x203A},
      {"middot", 0xB7},  {"ensp", 0x2002},   {"emsp", 0x2003},   {"thinsp", 0x2009}};
  if (!name.starts_with('#')) {
    const auto found = known.find(name);
    return found != known.end() ? found->second : accented(name);
  }
  const bool is_hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
  const std::string digits(name.substr(is_hex ? 2 : 1));
  if (digits.empty() || digits.size() > 7) return 0;
  char* end = nullptr;
  const auto value = static_cast<char32_t>(std::strtoul(digits.c_str(), &end, is_hex ? 16 : 10));
  const bool is_character =
      *end == 0 && value > 0x1F && value < 0x110000 && !(value >= 0xD800 && value < 0xE000);
  return is_character ? value : 0;
}

// Whether a character belongs to words or stands between them, and is not a sign by itself.
bool is_text(char32_t c) {
  const uint32_t mask = U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK | U_GC_P_MASK | U_GC_Z_MASK;
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & mask) != 0 || c == '<' || c == '>';
}

// Length of the entity at text[0] with & and ;, or 0.
size_t entity_length(std::string_view text) {
  constexpr size_t kLongest = 32;
  size_t at = 1;
  if (at < text.size() && text[at] == '#') ++at;
  while (at < text.size() && at < kLongest && std::isalnum(static_cast<unsigned char>(text[at]))) {
    ++at;
  }
  return at > 1 && at < text.size() && text[at] == ';' ? at + 1 : 0;
}

bool has_letter(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (u_isalnum(static_cast<UChar32>(next_code_point(text, at)))) return true;
  }
  return false;
}

// Gathers passages.
class Builder {
 public:
  Builder(std::string_view document, Markup markup) : document_(document), markup_(markup) {}

  // Running text: document[begin, end).
  void add_text(size_t begin, size_t end) {
    if (begin == end) return;
    begin_ = std::min(begin_, begin);
    const std::string_view text = document_.substr(begin, end - begin);
    size_t done = 0;
    protected_.each(text, [&](size_t from, size_t to) {
      add_characters(text.substr(done, from - done));
      add_point(text.substr(from, to - from), true);
      done = to;
    });
    add_characters(text.substr(done));
    end_ = end;
  }
  void add_point(size_t begin, size_t end, bool is_word) {
    begin_ = std::min(begin_, begin);
    add_point(document_.substr(begin, end - begin), is_word);
    end_ = end;
  }
  // Returns the index of the mark in its passage.
  size_t add_tag(Mark::Kind kind, size_t begin, size_t end, size_t partner) {
    begin_ = std::min(begin_, begin);
    marks_.push_back(
        {kind, text_.size(), std::string(document_.substr(begin, end - begin)), partner, false});
    if (partner != Mark::kNone) marks_[partner].partner = marks_.size() - 1;
    end_ = end;
    return marks_.size() - 1;
  }
  // Ends the passage. One without a word stays as it is.
  void end_passage() {
    if (has_letter(text_)) {
      made_.passages.push_back(
          {document_.substr(done_, begin_ - done_), std::move(text_), std::move(marks_)});
      done_ = end_;
    }
    text_.clear();
    marks_.clear();
    begin_ = document_.size();
  }
  Document finish() {
    end_passage();
    made_.after = document_.substr(done_);
    return std::move(made_);
  }

 private:
  void add_point(std::string_view raw, bool is_word) {
    marks_.push_back({Mark::Kind::point, text_.size(), std::string(raw), Mark::kNone, is_word});
  }
  // Entities become characters, or points if they are signs or unknown.
  void add_characters(std::string_view text) {
    while (!text.empty()) {
      const size_t amp = markup_ == Markup::html ? text.find('&') : std::string_view::npos;
      text_ += text.substr(0, amp);
      if (amp == std::string_view::npos) return;
      text.remove_prefix(amp);
      const size_t length = entity_length(text);
      const char32_t c = length > 0 ? entity_character(text.substr(1, length - 2)) : 0;
      if (length == 0) {
        text_ += '&';
      } else if (c != 0 && is_text(c)) {
        append_utf8(text_, c);
      } else {
        add_point(text.substr(0, length), true);
      }
      text.remove_prefix(std::max<size_t>(1, length));
    }
  }

  std::string_view document_;
  Markup markup_;
  inline static thread_local Protected protected_;  // slow to make
  Document made_;
  std::string text_;
  std::vector<Mark> marks_;
  size_t done_ = 0;                  // end of the last passage
  size_t begin_ = document_.size();  // of this one
  size_t end_ = 0;
};

Document parse_html(std::string_view html) {
  Builder builder(html, Markup::html);
  std::map<size_t, size_t> marks;  // of opening tags: by the index of the token
  const auto tokens = html_tokens(html);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const HtmlToken& token = tokens[i];
    switch (token.kind) {
      case HtmlToken::Kind::text:
        builder.add_text(token.begin, token.end);
        break;
      case HtmlToken::Kind::open:
        marks[i] = builder.add_tag(Mark::Kind::open, token.begin, token.end, Mark::kNone);
        break;
      case HtmlToken::Kind::close:
        builder.add_tag(Mark::Kind::close, token.begin, token.end, marks.at(token.partner));
        break;
      case HtmlToken::Kind::comment:
        builder.add_point(token.begin, token.end, false);
        break;
      case HtmlToken::Kind::point:
        builder.add_point(token.begin, token.end, true);
        break;
      case HtmlToken::Kind::border:
        builder.end_passage();
        break;
    }
  }
  return builder.finish();
}

}  // namespace

Document parse_document(std::string_view document, Markup markup) {
  if (markup == Markup::html) return parse_html(document);
  Builder builder(document, markup);
  builder.add_text(0, document.size());
  return builder.finish();
}

void append_escaped(std::string_view text, Markup markup, std::string& out) {
  if (markup != Markup::html) {
    out += text;
    return;
  }
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
}

}  // namespace residual::text
