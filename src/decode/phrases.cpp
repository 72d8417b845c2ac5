#include "decode/phrases.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "text/characters.h"
#include "text/unicode.h"

namespace residual::decode {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";

bool has_space_mark(std::string_view symbol) { return symbol.starts_with(kSpaceMark); }

bool begins_within_word(std::string_view symbol) {
  size_t at = 0;
  return !symbol.empty() && text::is_spaced_letter(text::next_code_point(symbol, at));
}

}  // namespace

Joints::Joints(const text::Vocabulary& vocabulary) : joints_(vocabulary.size()) {
  const auto size = static_cast<int32_t>(vocabulary.size());
  bool has_marks = false;
  for (int32_t i = 0; i < size; ++i) has_marks |= has_space_mark(vocabulary.symbol(i));
  for (int32_t i = text::Vocabulary::kSpecials; i < size; ++i) {
    const std::string_view symbol = vocabulary.symbol(i);
    if (symbol.ends_with("@@")) joints_[i] |= kNext;
    if (has_marks && begins_within_word(symbol)) joints_[i] |= kPrevious;
  }
}

Phrases::Phrases(std::vector<std::vector<int32_t>> phrases, std::shared_ptr<const Joints> joints)
    : phrases_(std::move(phrases)), joints_(std::move(joints)) {
  require(!phrases_.empty() && phrases_.size() <= kMost,
          "a translation may have to contain from 1 to {} phrases, not {}", kMost, phrases_.size());
  for (size_t i = 0; i < phrases_.size(); ++i) {
    require(!phrases_[i].empty(), "a phrase that a translation must contain is empty");
    all_ |= uint64_t{1} << i;
    total_ += static_cast<int64_t>(phrases_[i].size());
  }
}

bool Phrases::match(const std::vector<int32_t>& tokens, Progress& progress) const {
  for (size_t i = 0; i < phrases_.size(); ++i) {
    const auto& phrase = phrases_[i];
    if ((progress.met >> i & 1) != 0 || phrase.size() < tokens.size()) continue;
    if (!std::equal(tokens.begin(), tokens.end(), phrase.begin())) continue;
    if (phrase.size() == tokens.size()) {
      progress.met |= uint64_t{1} << i;
      progress.completed = static_cast<int32_t>(i);
      progress.begun = 0;
      return true;
    }
    progress.begun = static_cast<int32_t>(tokens.size());
    progress.begun_phrase = static_cast<int32_t>(i);
  }
  return progress.begun > 0;
}

Phrases::Progress Phrases::after(const Progress& before, int32_t token) const {
  Progress next = {.met = before.met, .token = token};
  const bool is_continued = before.completed != kNone && joints_ && joints_->with_previous(token);
  if (is_continued) next.met &= ~(uint64_t{1} << before.completed);  // it was no whole word

  // The more of the last tokens begin a phrase, the better.
  std::vector<int32_t> last;
  if (before.begun > 0) {
    const auto& phrase = phrases_[before.begun_phrase];
    last.assign(phrase.begin(), phrase.begin() + before.begun);
  }
  last.push_back(token);
  int32_t previous = before.begun > 0 ? kNone : before.token;  // what was begun began a word
  while (!last.empty()) {
    if (!is_within_word(previous) && match(last, next)) break;
    previous = last.front();
    last.erase(last.begin());
  }
  return next;
}

int64_t Phrases::tokens(const Progress& progress) const {
  int64_t count = progress.begun;
  for (size_t i = 0; i < phrases_.size(); ++i) {
    if ((progress.met >> i & 1) != 0) count += static_cast<int64_t>(phrases_[i].size());
  }
  return count;
}

void Phrases::append_next(const Progress& progress, std::vector<int32_t>& tokens) const {
  const auto begun = progress.begun;
  for (size_t i = 0; i < phrases_.size(); ++i) {
    if ((progress.met >> i & 1) != 0) continue;
    const auto& phrase = phrases_[i];
    if (begun > 0 && static_cast<int32_t>(phrase.size()) > begun &&
        std::equal(phrase.begin(), phrase.begin() + begun,
                   phrases_[progress.begun_phrase].begin())) {
      tokens.push_back(phrase[begun]);
    }
    if (!is_within_word(progress.token)) tokens.push_back(phrase[0]);
  }
}

}  // namespace residual::decode
