#include "metrics/tokenizers.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "metrics/unicode_additions.h"
#include "metrics/words.h"
#include "text/unicode.h"
#include "text/whitespace.h"

// Each tokeniser is a sequence of passes. A pass scans from the left and goes on after what it
// rewrote, so a character it has consumed cannot take part in the next match: "a..b" depends on it.
namespace residual::metrics {
namespace {

struct Range {
  char32_t first, last;
};

template <size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const Range& r) { return c >= r.first && c <= r.last; });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_not_digit(char c) { return !is_digit(c); }
bool is_point(char c) { return c == '.' || c == ','; }
bool is_dash(char c) { return c == '-'; }

// ASCII punctuation but ' , - . and, harmlessly, the space.
bool is_western_mark(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  if (at == std::string::npos) return;
  std::string out;
  out.reserve(text.size());
  size_t start = 0;
  for (; at != std::string::npos; at = text.find(from, start)) {
    out.append(text, start, at - start).append(to);
    start = at + from.size();
  }
  text = out.append(text, start);
}

// Puts spaces around each unit that is `chosen`.
template <class String, class Chosen>
void separate(String& text, const Chosen& chosen) {
  String out;
  out.reserve(text.size() + text.size() / 4);
  for (const auto c : text) {
    if (chosen(c)) {
      out += ' ';
      out += c;
      out += ' ';
    } else {
      out += c;
    }
  }
  text = std::move(out);
}

// Puts spaces around the second of each pair, or around its first.
enum class Part { first, second };
template <class String, class First, class Second>
void separate_in_pairs(String& text, const First& first, const Second& second, Part part) {
  String out;
  out.reserve(text.size() + text.size() / 4);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      out += text[i];
      continue;
    }
    if (part == Part::first) out += ' ';
    out += text[i];
    out += ' ';
    out += text[++i];
    if (part == Part::second) out += ' ';
  }
  text = std::move(out);
}

void unescape_xml(std::string& text) {
  if (text.find('&') == std::string::npos) return;
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
}

// Full stops and commas unless a digit stands on that side; dashes after digits. On bytes: no byte
// of a longer character is a digit or punctuation, so its last or first byte stands for all of it.
void separate_points(std::string& text) {
  separate_in_pairs(text, is_not_digit, is_point, Part::second);
  separate_in_pairs(text, is_point, is_not_digit, Part::first);
  separate_in_pairs(text, is_digit, is_dash, Part::second);
}

void separate_western(std::string& text) {
  separate(text, is_western_mark);
  separate_points(text);
}

std::string tokenize_13a(std::string_view line) {
  std::string text = fmt::format(" {} ", line);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  unescape_xml(text);
  separate_western(text);
  return text;
}

char general_class(char32_t c) {
  if (const char added = added_class(c)) return added;
  switch (u_charType(static_cast<UChar32>(c))) {
    case U_DECIMAL_DIGIT_NUMBER:
    case U_LETTER_NUMBER:
    case U_OTHER_NUMBER:
      return 'N';
    case U_DASH_PUNCTUATION:
    case U_START_PUNCTUATION:
    case U_END_PUNCTUATION:
    case U_CONNECTOR_PUNCTUATION:
    case U_OTHER_PUNCTUATION:
    case U_INITIAL_PUNCTUATION:
    case U_FINAL_PUNCTUATION:
      return 'P';
    case U_MATH_SYMBOL:
    case U_CURRENCY_SYMBOL:
    case U_MODIFIER_SYMBOL:
    case U_OTHER_SYMBOL:
      return 'S';
    default:
      return ' ';
  }
}

bool is_number(char32_t c) { return general_class(c) == 'N'; }
bool is_punctuation(char32_t c) { return general_class(c) == 'P'; }
bool is_symbol(char32_t c) { return general_class(c) == 'S'; }
bool is_not_number(char32_t c) { return !is_number(c); }

std::string tokenize_intl(std::string_view line) {
  std::u32string text = text::to_code_points(line);
  separate_in_pairs(text, is_not_number, is_punctuation, Part::second);
  separate_in_pairs(text, is_punctuation, is_not_number, Part::first);
  separate(text, is_symbol);
  return text::to_utf8(text);
}

std::string tokenize_characters(std::string_view line) {
  std::string out;
  out.reserve(line.size() * 2);
  for (size_t at = 0; at < line.size();) {
    const size_t start = at;
    text::next_code_point(line, at);
    out.append(line.substr(start, at - start)) += ' ';
  }
  return out;
}

// sacreBLEU's list. Its two supplementary planes are written with four-digit escapes, so they mean
// U+2001-2A6D and U+2F81-2FA1 (which lie in ranges below); equal scores need the same mistake.
constexpr std::array<Range, 18> kChinese{{{0x2001, 0x2A6D},
                                          {0x2E80, 0x2EFF},
                                          {0x2F00, 0x2FDF},
                                          {0x2FF0, 0x2FFF},
                                          {0x3000, 0x303F},
                                          {0x3100, 0x312F},
                                          {0x31A0, 0x31BF},
                                          {0x31C0, 0x31EF},
                                          {0x3200, 0x32FF},
                                          {0x3300, 0x33FF},
                                          {0x3400, 0x4DB5},
                                          {0x4E00, 0x9FBB},
                                          {0xF900, 0xFA2D},
                                          {0xFA30, 0xFA6A},
                                          {0xFA70, 0xFAD9},
                                          {0xFE10, 0xFE1F},
                                          {0xFE30, 0xFE4F},
                                          {0xFF00, 0xFFEF}}};

std::string tokenize_zh(std::string_view line) {
  std::u32string text = text::to_code_points(text::without_outer_whitespace(line));
  separate(text, [](char32_t c) { return is_in(kChinese, c); });
  std::string out = text::to_utf8(text);
  separate_western(out);
  return out;
}

// Ideographs, strokes, radicals, compatibility forms, enclosed letters. Tercom's rules for kana
// apply only at the very beginning of a line, where normalisation has put a space.
constexpr std::array<Range, 6> kTercomIdeographs{{{0x2E80, 0x2EFF},
                                                  {0x31C0, 0x31EF},
                                                  {0x3200, 0x4DBF},
                                                  {0x4E00, 0x9FFF},
                                                  {0xF900, 0xFAFF},
                                                  {0xFE30, 0xFE4F}}};
constexpr std::array<Range, 11> kAsianPunctuation{{{0x3001, 0x3002},
                                                   {0x3008, 0x3011},
                                                   {0x3014, 0x301F},
                                                   {0x30FB, 0x30FB},
                                                   {0xFF01, 0xFF02},
                                                   {0xFF08, 0xFF09},
                                                   {0xFF0C, 0xFF0C},
                                                   {0xFF0E, 0xFF0E},
                                                   {0xFF1A, 0xFF1B},
                                                   {0xFF1F, 0xFF1F},
                                                   {0xFF61, 0xFF65}}};

std::string tercom_normalize(std::string_view line, bool asian) {
  std::string text(line);
  replace_all(text, "\n-", "");
  unescape_xml(text);
  text = fmt::format(" {} ", text);
  separate(text, is_western_mark);
  replace_all(text, "'s ", " 's ");
  separate_points(text);
  if (!asian) return text;
  std::u32string wide = text::to_code_points(text);
  separate(wide,
           [](char32_t c) { return is_in(kTercomIdeographs, c) || is_in(kAsianPunctuation, c); });
  return text::to_utf8(wide);
}

void remove_punctuation(std::string& text, bool asian) {
  std::erase_if(text, [](char c) {
    return std::string_view(".,?:;!\"()").find(c) != std::string_view::npos;
  });
  if (!asian) return;
  std::u32string wide = text::to_code_points(text);
  std::erase_if(wide, [](char32_t c) { return is_in(kAsianPunctuation, c); });
  text = text::to_utf8(wide);
}

}  // namespace

std::string tokenize(BleuTokenizer tokenizer, std::string_view line) {
  switch (tokenizer) {
    case BleuTokenizer::v13a:
      return tokenize_13a(line);
    case BleuTokenizer::intl:
      return tokenize_intl(line);
    case BleuTokenizer::character:
      return tokenize_characters(line);
    case BleuTokenizer::zh:
      return tokenize_zh(line);
    case BleuTokenizer::none:
      break;
  }
  return std::string(line);
}

std::string tercom_tokenize(const TercomOptions& options, std::string_view line) {
  if (line.empty()) return "";
  std::string text = options.case_sensitive ? std::string(line) : lower(line);
  if (options.normalized) text = tercom_normalize(text, options.asian_support);
  if (options.no_punct) remove_punctuation(text, options.asian_support);
  std::vector<std::string_view> words;
  text::split_tokens(text, words);
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace residual::metrics
