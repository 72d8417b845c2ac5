#include "text/detokenizer.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "text/abbreviations.h"
#include "text/characters.h"
#include "text/normalizer.h"
#include "text/unicode.h"

namespace residual::text {
namespace {

struct Entity {
  std::string_view name;
  char character;
};
// What tokenizer.perl writes, and the names that older versions wrote.
constexpr std::array<Entity, 11> kEntities{{{"&bar;", '|'},
                                            {"&#124;", '|'},
                                            {"&lt;", '<'},
                                            {"&gt;", '>'},
                                            {"&bra;", '['},
                                            {"&ket;", ']'},
                                            {"&quot;", '"'},
                                            {"&apos;", '\''},
                                            {"&#91;", '['},
                                            {"&#93;", ']'},
                                            {"&amp;", '&'}}};

constexpr std::string_view kSpacedInFrench = "?!:;\\%";

uint8_t class_of(char32_t c) { return CharacterClasses::unicode14()[c]; }

char32_t first_of(std::string_view word) {
  size_t at = 0;
  return word.empty() ? 0 : next_code_point(word, at);
}

char32_t last_of(std::string_view word) {
  if (word.empty()) return 0;
  size_t at = word.size() - 1;
  while ((static_cast<unsigned char>(word[at]) & 0xC0) == 0x80) --at;
  return next_code_point(word, at);
}

// Whether the word is not empty and each of its characters holds.
template <class Predicate>
bool consists_of(std::string_view word, Predicate&& holds) {
  for (size_t at = 0; at < word.size();) {
    if (!holds(next_code_point(word, at))) return false;
  }
  return !word.empty();
}

// The blocks of Chinese, Japanese, Korean and Yi writing that the script lists.
bool is_cjk(char32_t c) {
  const auto between = [c](char32_t low, char32_t high) { return c >= low && c <= high; };
  return between(0x1100, 0x11FF) || between(0x2E80, 0xA4CF) || between(0xA840, 0xA87F) ||
         between(0xAC00, 0xD7AF) || between(0xF900, 0xFAFF) || between(0xFE30, 0xFE4F) ||
         between(0xFF65, 0xFFDC) || between(0x20000, 0x2FFFF);
}

bool opens(char32_t c) {
  return c == '(' || c == '[' || c == '{' || c == U'¿' || c == U'¡' ||
         (class_of(c) & kCurrency) != 0;
}

bool closes(char32_t c) {
  return c != 0 && c < 0x80 &&
         std::string_view(",.?!:;\\%}])").find(static_cast<char>(c)) != std::string_view::npos;
}

bool is_quote(char32_t c) { return c == '\'' || c == '"' || c == U'„' || c == U'“' || c == '`'; }

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }

// The word with its first letter in lower case: the letters that begin a Finnish case ending.
std::string with_small_first_letter(std::string_view word) {
  for (const auto& [capital, small] : {std::pair("Ä", "ä"), std::pair("Ö", "ö")}) {
    if (word.starts_with(capital)) return small + std::string(word.substr(2));
  }
  std::string out(word);
  if (!out.empty() && out[0] >= 'A' && out[0] <= 'Z')
    out[0] = static_cast<char>(out[0] + 'a' - 'A');
  return out;
}

// A Finnish case ending, with or without possessive and clitic, as it follows "EU:". A capital may
// begin it.
bool is_finnish_ending(std::string_view word) {
  static constexpr std::string_view kCases[] = {"a",   "an",  "han",  "hun", "hyn", "hän", "hön",
                                                "ine", "kse", "ksi",  "lla", "lle", "llä", "lta",
                                                "ltä", "n",   "seen", "ssa", "ssä", "sta", "stä",
                                                "tta", "un",  "yn",   "ä",   "än",  "ön"};
  static constexpr std::string_view kPossessives[] = {"", "mme", "ni", "nne", "nsa", "si"};
  static constexpr std::string_view kClitics[] = {"",   "han",  "hän", "kaan", "kin",
                                                  "ko", "kään", "kö",  "pa",   "pä"};
  const std::string small = with_small_first_letter(word);
  for (const auto ending : kCases) {
    if (!small.starts_with(ending)) continue;
    const auto rest = std::string_view(small).substr(ending.size());
    for (const auto possessive : kPossessives) {
      if (!rest.starts_with(possessive)) continue;
      const auto clitic = rest.substr(possessive.size());
      if (std::ranges::find(kClitics, clitic) != std::end(kClitics)) return true;
    }
  }
  return false;
}

const Entity* entity_at_start_of(std::string_view text) {
  for (const Entity& entity : kEntities) {
    if (text.starts_with(entity.name)) return &entity;
  }
  return nullptr;
}

// " line " without " @-@ " and entities.
void unescape(std::string_view line, std::string& padded, std::string& out) {
  constexpr std::string_view kHyphen = " @-@ ";
  padded.assign(1, ' ').append(line).append(1, ' ');
  const std::string_view text = padded;
  out.clear();
  for (size_t at = 0; at < text.size();) {
    const auto rest = text.substr(at);
    if (rest[0] == ' ' && rest.starts_with(kHyphen)) {
      out += '-';
      at += kHyphen.size();
      continue;
    }
    const Entity* entity = rest[0] == '&' ? entity_at_start_of(rest) : nullptr;
    out += entity ? entity->character : rest[0];
    at += entity ? entity->name.size() : 1;
  }
}

// At single spaces; empty words count, except at the end.
void split(std::string_view text, std::vector<std::string_view>& words) {
  words.clear();
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  while (!words.empty() && words.back().empty()) words.pop_back();
}

bool is_white_space(std::string_view line) {
  return line.empty() || consists_of(line, [](char32_t c) { return class_of(c) & kSpace; });
}

}  // namespace

// Appends words to a line, keeping its spaces single and none at its beginning.
struct Detokenizer::Joiner {
  std::string& out;
  size_t start;
  bool space_due = true;  // before the next word, unless it joins
  std::unordered_map<std::string_view, int> quotes_seen{};

  void space() {
    if (out.size() > start && out.back() != ' ') out += ' ';
  }
  void join(std::string_view word) {  // to what stands before
    out += word;
    space_due = true;
  }
  void add(std::string_view word) {
    if (space_due) space();
    join(word);
  }
  void open(std::string_view word) {  // and the next word joins it
    add(word);
    space_due = false;
  }
};

Detokenizer::Detokenizer(const std::string& code) {
  const std::string language = without_region(code);
  english_ = language == "en";
  czech_ = language == "cs";
  finnish_ = language == "fi";
  french_ = language == "fr";
  italian_ = language == "it";
  korean_ = language == "ko";
}

bool Detokenizer::joins_contraction(const Words& words, size_t i) const {
  return english_ && i > 0 && words[i].starts_with('\'') &&
         class_of(first_of(words[i].substr(1))) & kAlphabetic &&
         class_of(last_of(words[i - 1])) & kAlphanumeric;
}

bool Detokenizer::continues_czech_number(const Words& words, size_t i) const {
  return czech_ && i > 1 && consists_of(words[i - 2], is_digit) &&
         (words[i - 1] == "." || words[i - 1] == ",") && consists_of(words[i], is_digit);
}

bool Detokenizer::opens_contraction(const Words& words, size_t i) const {
  return (french_ || italian_) && i + 2 <= words.size() && words[i].ends_with('\'') &&
         class_of(last_of(words[i].substr(0, words[i].size() - 1))) & kAlphabetic &&
         class_of(first_of(words[i + 1])) & kAlphabetic;
}

// "je - li", "e - mail"
bool Detokenizer::opens_czech_compound(const Words& words, size_t i) const {
  if (!czech_ || i + 3 >= words.size()) return false;
  std::string third;
  lowercase(words[i + 2], third);
  return class_of(last_of(words[i])) & kAlphabetic &&
         (words[i + 1] == "-" || words[i + 1] == "–") &&
         (third == "li" || third.starts_with("mail"));
}

// Every other quote of a kind opens.
void Detokenizer::quote(const Words& words, size_t i, Joiner& joiner) const {
  const std::string_view word = words[i];
  const bool curly = consists_of(word, [](char32_t c) { return c == U'„' || c == U'“'; });
  int& seen = joiner.quotes_seen[curly ? "\"" : word];
  if (czech_ && word == "„") seen = 0;
  if (czech_ && word == "“") seen = 1;
  const bool opening = seen % 2 == 0;
  if (opening && english_ && word == "'" && i > 0 && words[i - 1].ends_with('s')) {
    joiner.join(word);  // a possessive: "the Jones' house"
    return;
  }
  ++seen;
  opening ? joiner.open(word) : joiner.join(word);
}

void Detokenizer::operator()(std::string_view line, std::string& out) const {
  if ((line.size() > 2 && line.starts_with('<') && line.ends_with('>')) || is_white_space(line)) {
    out += line;
    return;
  }
  thread_local std::string padded, text;
  thread_local Words words;
  unescape(line, padded, text);
  split(text, words);
  Joiner joiner{.out = out, .start = out.size()};
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (is_cjk(first_of(word))) {
      if (i > 0 && is_cjk(last_of(words[i - 1])) && !korean_) {
        joiner.join(word);
      } else {
        joiner.add(word);
      }
    } else if (consists_of(word, opens) || opens_contraction(words, i)) {
      joiner.open(word);
    } else if (consists_of(word, closes)) {
      // French sets a space before the high punctuation marks.
      if (french_ && word.size() == 1 && kSpacedInFrench.find(word[0]) != std::string_view::npos) {
        joiner.space();
      }
      joiner.join(word);
    } else if (joins_contraction(words, i) || continues_czech_number(words, i)) {
      joiner.join(word);
    } else if (opens_czech_compound(words, i)) {
      joiner.add(word);
      joiner.out += words[++i];
      joiner.space_due = false;
    } else if (consists_of(word, is_quote)) {
      quote(words, i, joiner);
    } else if (finnish_ && i > 0 && words[i - 1].ends_with(':') && is_finnish_ending(word)) {
      lowercase(word, out);
      joiner.space_due = true;
    } else {
      joiner.add(word);
    }
  }
  if (out.size() > joiner.start && out.back() == ' ') out.pop_back();
}

}  // namespace residual::text
