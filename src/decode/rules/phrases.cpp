#include "decode/rules/phrases.h"

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
    longest_ = std::max(longest_, phrases_[i].size());
  }
}

bool Phrases::ends_with(const std::vector<int32_t>& last, const std::vector<int32_t>& phrase,
                        size_t count) const {
  if (count > last.size()) return false;
  const auto first = last.end() - static_cast<std::ptrdiff_t>(count);
  const bool is_within_word = joints_ && first != last.begin() && joints_->with_next(first[-1]);
  return !is_within_word && std::equal(first, last.end(), phrase.begin());
}

size_t Phrases::begun(const std::vector<int32_t>& last, const std::vector<int32_t>& phrase) const {
  size_t count = phrase.size() - 1;
  while (count > 0 && !ends_with(last, phrase, count)) --count;
  return count;
}

Phrases::Progress Phrases::after(const Progress& before, int32_t token) const {
  Progress next = {.met = before.met, .last = before.last};
  // What goes on was no whole word.
  if (joints_ && joints_->with_previous(token)) next.met &= ~before.completed;
  next.last.push_back(token);
  if (next.last.size() > longest_ + 1) next.last.erase(next.last.begin());
  for (size_t i = 0; i < phrases_.size(); ++i) {
    if (is_met(next, i) || !ends_with(next.last, phrases_[i], phrases_[i].size())) continue;
    next.completed |= uint64_t{1} << i;
  }
  next.met |= next.completed;
  return next;
}

int64_t Phrases::tokens(const Progress& progress) const {
  size_t count = 0, most = 0;
  for (size_t i = 0; i < phrases_.size(); ++i) {
    if (is_met(progress, i)) {
      count += phrases_[i].size();
    } else {
      most = std::max(most, begun(progress.last, phrases_[i]));
    }
  }
  return static_cast<int64_t>(count + most);
}

void Phrases::append_next(const Progress& progress, std::vector<int32_t>& tokens) const {
  for (size_t i = 0; i < phrases_.size(); ++i) {
    if (is_met(progress, i)) continue;
    const size_t count = begun(progress.last, phrases_[i]);
    if (count > 0) tokens.push_back(phrases_[i][count]);
    if (ends_with(progress.last, phrases_[i], 0)) tokens.push_back(phrases_[i][0]);
  }
}

}  // namespace residual::decode
