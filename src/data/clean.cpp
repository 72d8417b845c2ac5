#include "data/clean.h"

#include <algorithm>
#include <numeric>

#include "text/characters.h"
#include "text/unicode.h"

namespace residual::data {
namespace {

struct Words {
  int64_t count = 0;
  int64_t longest = 0;  // in characters, bars not counted and parting words
};

// Words parted by single spaces.
Words squeeze(std::string& text, bool remove_bars) {
  const auto& classes = text::CharacterClasses::unicode14();  // of Perl's \s
  Words words;
  std::string out;
  out.reserve(text.size());
  bool in_word = false;
  int64_t length = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = text::next_code_point(text, at);
    if (c == '|' && remove_bars) continue;
    if (classes[c] & text::kSpace) {
      in_word = false;
      length = 0;
      continue;
    }
    if (!in_word) {
      if (words.count > 0) out += ' ';
      ++words.count;
      in_word = true;
    }
    length = c == '|' ? 0 : length + 1;
    words.longest = std::max(words.longest, length);
    out.append(text, begin, at - begin);
  }
  text = std::move(out);
  return words;
}

}  // namespace

std::string_view reason(Verdict verdict) {
  constexpr std::array<std::string_view, kVerdicts> kReasons{
      "kept",      "empty",     "too short", "too long",      "ratio",
      "long word", "identical", "duplicate", "in dev or test"};
  return kReasons[static_cast<size_t>(verdict)];
}

uint64_t Verdicts::dropped() const {
  return std::accumulate(count.begin() + 1, count.end(), uint64_t{0});
}

void Cleaner::see_first(std::string_view source, std::string_view target) {
  factored_ =
      source.find('|') != std::string_view::npos || target.find('|') != std::string_view::npos;
}

Verdict Cleaner::operator()(std::string& source, std::string& target) const {
  const bool remove_bars = options_.remove_bars && !factored_;
  const Words s = squeeze(source, remove_bars);
  const Words t = squeeze(target, remove_bars);
  if (s.count == 0 || t.count == 0) return Verdict::empty;
  if (std::max(s.count, t.count) > options_.max_words) return Verdict::too_long;
  if (std::min(s.count, t.count) < options_.min_words) return Verdict::too_short;
  const auto [shorter, longer] = std::minmax(s.count, t.count);
  if (static_cast<double>(longer) / static_cast<double>(shorter) > options_.max_ratio) {
    return Verdict::ratio;
  }
  if (std::max(s.longest, t.longest) > options_.max_word_characters) return Verdict::long_word;
  return Verdict::kept;
}

}  // namespace residual::data
