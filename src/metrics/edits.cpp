#include "metrics/edits.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace residual::metrics {
namespace {

// Tercom's limits, and one of sacreBLEU's own: the last.
constexpr double kBeamWidth = 25;
constexpr size_t kMaxShiftSize = 10;
constexpr size_t kMaxShiftDistance = 50;
constexpr int kMaxShiftCandidates = 1000;

constexpr int32_t kInfinite = INT32_MAX / 2;

using Words = std::vector<uint32_t>;

// The words with [start, start + length) taken out and put back at `target`. A target inside or
// right after the piece moves it behind that many of the words that follow it. `first` and `last`
// bound what has changed.
void shift(const Words& words, size_t start, size_t length, size_t target, Words& out,
           size_t& first, size_t& last) {
  out = words;
  const auto at = [&](size_t i) { return out.begin() + static_cast<ptrdiff_t>(i); };
  if (target < start) {
    first = target;
    last = start + length;
    std::rotate(at(target), at(start), at(last));
  } else {
    first = start;
    last = target > start + length ? target : std::min(target + length, words.size());
    std::rotate(at(start), at(start + length), at(last));
  }
}

// Ranks shifts: the larger gain, then the longer piece, then the earlier piece and target.
struct Candidate {
  int32_t gain;
  size_t length, start, target;
  bool is_better_than(const Candidate& other) const {
    return std::tuple(gain, length, other.start, other.target) >
           std::tuple(other.gain, other.length, start, target);
  }
};

// Greedy search for the shifts that shorten the distance.
class ShiftSearch {
 public:
  ShiftSearch(std::span<const uint32_t> hypothesis, std::span<const uint32_t> reference)
      : words_(hypothesis.begin(), hypothesis.end()),
        reference_(reference),
        distance_(hypothesis.size(), reference) {}

  int64_t edits() {
    int64_t shifts = 0;
    for (;;) {
      before_ = distance_.base(words_);
      const bool found = find_best();
      if (checked_ >= kMaxShiftCandidates || !found || best_.gain <= 0) return shifts + before_;
      size_t first = 0, last = 0;
      shift(words_, best_.start, best_.length, best_.target, shifted_, first, last);
      std::swap(words_, shifted_);
      ++shifts;
    }
  }

 private:
  bool find_best() {
    alignment_ = distance_.alignment(words_);
    any_ = false;
    for (size_t start = 0; start < words_.size(); ++start) {
      const size_t from = start > kMaxShiftDistance ? start - kMaxShiftDistance : 0;
      const size_t to = std::min(reference_.size(), start + kMaxShiftDistance + 1);
      for (size_t goal = from; goal < to; ++goal) {
        const size_t longest =
            std::min({kMaxShiftSize, words_.size() - start, reference_.size() - goal});
        bool hypothesis_error = false, reference_error = false;
        for (size_t i = 0; i < longest && words_[start + i] == reference_[goal + i]; ++i) {
          hypothesis_error |= alignment_.hypothesis_error[start + i] != 0;
          reference_error |= alignment_.reference_error[goal + i] != 0;
          // Only words that are wrong here and missing there are worth moving.
          if (hypothesis_error && reference_error) try_targets(start, goal, i + 1);
          if (checked_ >= kMaxShiftCandidates) return any_;
        }
      }
    }
    return any_;
  }

  // Places for words [start, start + length): before and after each of the words that are aligned
  // to the equal piece of the reference at `goal`.
  void try_targets(size_t start, size_t goal, size_t length) {
    const int64_t aligned = alignment_.position[goal];
    const auto begin = static_cast<int64_t>(start);
    if (aligned >= begin && aligned < begin + static_cast<int64_t>(length)) return;
    int64_t previous = -1;
    for (size_t i = 0; i <= length; ++i) {  // reference word goal + i - 1
      if (goal + i > reference_.size()) return;
      const int64_t target = goal + i == 0 ? 0 : alignment_.position[goal + i - 1] + 1;
      if (target == previous) continue;
      previous = target;
      try_shift(start, length, static_cast<size_t>(target));
    }
  }

  void try_shift(size_t start, size_t length, size_t target) {
    size_t first = 0, last = 0;
    shift(words_, start, length, target, shifted_, first, last);
    const Candidate candidate{before_ - distance_.changed(shifted_, first, last), length, start,
                              target};
    ++checked_;
    if (any_ && !candidate.is_better_than(best_)) return;
    any_ = true;
    best_ = candidate;
  }

  Words words_, shifted_;
  std::span<const uint32_t> reference_;
  BandedDistance distance_;
  BandedDistance::Alignment alignment_;
  int32_t before_ = 0;
  int checked_ = 0;
  bool any_ = false;
  Candidate best_{};
};

}  // namespace

BandedDistance::BandedDistance(size_t hypothesis_length, std::span<const uint32_t> reference)
    : reference_(reference.begin(), reference.end()) {
  const size_t columns = reference_.size() + 1;
  const double ratio = hypothesis_length > 0 ? static_cast<double>(reference_.size()) /
                                                   static_cast<double>(hypothesis_length)
                                             : 1;
  const double width = kBeamWidth < ratio / 2 ? std::ceil(ratio / 2 + kBeamWidth) : kBeamWidth;
  rows_.reserve(hypothesis_length + 1);
  rows_.push_back({0, columns, 0});
  size_t offset = columns, widest = columns;
  for (size_t i = 1; i <= hypothesis_length; ++i) {
    const double diagonal = std::floor(static_cast<double>(i) * ratio);
    const auto begin = static_cast<size_t>(std::max(0.0, diagonal - width));
    const size_t end =
        i == hypothesis_length ? columns : std::min(columns, static_cast<size_t>(diagonal + width));
    rows_.push_back({begin, end, offset});
    offset += end - begin;
    widest = std::max(widest, end - begin);
  }
  cost_.resize(offset);
  std::iota(cost_.begin(), cost_.begin() + static_cast<ptrdiff_t>(columns), 0);
  for (auto& row : scratch_) row.resize(widest);
}

// cost(i, j) = min(cost(i-1, j-1) + [word differs], cost(i-1, j) + 1, cost(i, j-1) + 1), where what
// lies outside the band is infinite.
void BandedDistance::compute_row(size_t i, uint32_t word, const int32_t* above,
                                 int32_t* row) const {
  const Row &before = rows_[i - 1], &here = rows_[i];
  const size_t both = std::min(here.end, before.end);
  size_t j = here.begin;
  int32_t left = kInfinite;
  if (j == before.begin && j < both) {  // no diagonal neighbour
    left = *row++ = *above + 1;
    ++j;
  } else {
    above += j - 1 - before.begin;
  }
  // `above` is at column j - 1, `row` at j.
  for (; j < both; ++j, ++above, ++row) {
    const int32_t diagonal = above[0] + (word == reference_[j - 1] ? 0 : 1);
    left = *row = std::min({diagonal, above[1] + 1, left + 1});
  }
  if (j < here.end && j == before.end) {
    left = *row++ = std::min(above[0] + (word == reference_[j - 1] ? 0 : 1), left + 1);
    ++j;
  }
  for (; j < here.end; ++j) left = *row++ = left + 1;
}

int32_t BandedDistance::base(std::span<const uint32_t> hypothesis) {
  for (size_t i = 1; i < rows_.size(); ++i) {
    compute_row(i, hypothesis[i - 1], &cost_[rows_[i - 1].offset], &cost_[rows_[i].offset]);
  }
  return cost_.back();
}

bool BandedDistance::is_shifted_base(size_t i, const int32_t* row) const {
  const int32_t* base = &cost_[rows_[i].offset];
  const size_t size = rows_[i].end - rows_[i].begin;
  const int32_t difference = row[0] - base[0];
  for (size_t j = 1; j < size; ++j) {
    if (row[j] - base[j] != difference) return false;
  }
  return true;
}

int32_t BandedDistance::changed(std::span<const uint32_t> hypothesis, size_t first, size_t last) {
  const int32_t* above = &cost_[rows_[first].offset];
  for (size_t i = first + 1; i < rows_.size(); ++i) {
    int32_t* row = scratch_[i % 2].data();
    compute_row(i, hypothesis[i - 1], above, row);
    // Below, the words are the base's: rows that differ by a constant stay so to the end.
    if (i >= last && is_shifted_base(i, row)) {
      return cost_.back() + row[0] - cost_[rows_[i].offset];
    }
    above = row;
  }
  return above[rows_.back().end - 1 - rows_.back().begin];
}

BandedDistance::Alignment BandedDistance::alignment(std::span<const uint32_t> hypothesis) const {
  Alignment result{std::vector<int64_t>(reference_.size()),
                   std::vector<uint8_t>(reference_.size(), 1),
                   std::vector<uint8_t>(hypothesis.size(), 1)};
  size_t i = hypothesis.size(), j = reference_.size();
  while (i > 0 || j > 0) {
    const bool kept = i > 0 && j > 0 && hypothesis[i - 1] == reference_[j - 1];
    if (i > 0 && j > 0 && has(i - 1, j - 1) && cost(i, j) == cost(i - 1, j - 1) + (kept ? 0 : 1)) {
      --i;
      --j;
      result.position[j] = static_cast<int64_t>(i);
      if (kept) result.hypothesis_error[i] = result.reference_error[j] = 0;
    } else if (i > 0 && has(i - 1, j) && cost(i, j) == cost(i - 1, j) + 1) {
      --i;
    } else {
      --j;
      result.position[j] = static_cast<int64_t>(i) - 1;
    }
  }
  return result;
}

int64_t translation_edits(std::span<const uint32_t> hypothesis,
                          std::span<const uint32_t> reference) {
  if (reference.empty()) return static_cast<int64_t>(hypothesis.size());
  return ShiftSearch(hypothesis, reference).edits();
}

}  // namespace residual::metrics
