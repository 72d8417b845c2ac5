#include "fetch/plausible.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "text/unicode.h"

namespace residual::fetch {
namespace {

constexpr double kFewestWords = 4;
constexpr double kMostWords = 60;
constexpr double kMostRatio = 3;
constexpr double kFewestLetters = 0.6;  // of all characters but blanks
constexpr double kMostShared = 0.8;     // of the second side's words

// Written without blanks between words: Han, kana, and their punctuation.
bool is_ideographic(char32_t c) {
  return (c >= 0x3000 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFFEF) ||
         (c >= 0x20000 && c <= 0x3FFFF);
}

bool is_ascii_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_text(std::string_view sentence) {
  size_t characters = 0, letters = 0;
  for (size_t at = 0; at < sentence.size();) {
    const char32_t c = text::next_code_point(sentence, at);
    if (c < 0x20 || c == 0x7F || c == text::kReplacement) return false;
    if (c == ' ') continue;
    ++characters;
    if (is_ascii_letter(c) || c >= 0xAA) ++letters;
  }
  return static_cast<double>(letters) >= kFewestLetters * static_cast<double>(characters);
}

template <class Body>
void for_each_word(std::string_view sentence, Body&& body) {
  for (size_t at = 0; at < sentence.size();) {
    const size_t end = std::min(sentence.find(' ', at), sentence.size());
    if (end > at) body(sentence.substr(at, end - at));
    at = end + 1;
  }
}

bool repeats(const SentencePair& pair) {
  std::unordered_set<std::string> known;
  for_each_word(pair.first, [&](std::string_view word) { known.insert(folded(word)); });
  size_t words = 0, shared = 0;
  for_each_word(pair.second, [&](std::string_view word) {
    ++words;
    if (known.contains(folded(word))) ++shared;
  });
  return static_cast<double>(shared) >= kMostShared * static_cast<double>(words);
}

}  // namespace

double count_words(std::string_view sentence) {
  double words = 0;
  bool in_word = false;
  for (size_t at = 0; at < sentence.size();) {
    const char32_t c = text::next_code_point(sentence, at);
    if (is_ideographic(c)) {
      words += 0.5;
      in_word = false;
    } else if (c == ' ') {
      in_word = false;
    } else if (!in_word) {
      words += 1;
      in_word = true;
    }
  }
  return words;
}

bool is_plausible(const SentencePair& pair) {
  const double first = count_words(pair.first), second = count_words(pair.second);
  const auto [shorter, longer] = std::minmax(first, second);
  return shorter >= kFewestWords && longer <= kMostWords && longer <= kMostRatio * shorter &&
         is_text(pair.first) && is_text(pair.second) && !repeats(pair);
}

}  // namespace residual::fetch
