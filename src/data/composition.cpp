#include "data/composition.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <utility>

#include "base/parallel.h"
#include "base/random.h"

namespace residual::data {
namespace {

constexpr int64_t kSide = 256;  // length classes of one side: 4 per octave of a 64-bit length
constexpr int64_t kCells = kSide * kSide;

// Length classes of both sides. Their limits move by up to a class width with the stream, so that
// even a corpus with one pair per class is grouped differently every time.
class Cells {
 public:
  Cells(const Random& random) : source_scale_(scale(random, 0)), target_scale_(scale(random, 1)) {}

  // Target classes run up and down in turn, so that neighbouring cells hold similar pairs.
  int64_t operator()(Corpus::Lengths at) const {
    const int64_t source = length_class(at.source, source_scale_);
    const int64_t target = length_class(at.target, target_scale_);
    return source * kSide + (source % 2 == 0 ? target : kSide - 1 - target);
  }

 private:
  static constexpr uint64_t kUnit = 1024;

  static uint64_t scale(const Random& random, uint64_t side) {
    return kUnit + random.below(side, kUnit / 4);
  }
  // The position of the highest bit and the two bits after it.
  static int64_t length_class(int64_t length, uint64_t scale) {
    const auto bounded = static_cast<uint64_t>(std::clamp<int64_t>(length, 1, int64_t{1} << 31));
    const uint64_t scaled = bounded * scale;  // at least kUnit, so that three bits are there
    const int64_t width = 64 - std::countl_zero(scaled);
    return width * 4 + static_cast<int64_t>(scaled >> (width - 3) & 3);
  }

  uint64_t source_scale_, target_scale_;
};

// The kept pairs, cell by cell in ascending order; `ends` are those of the cells.
Grouping sort_by_cell(const Corpus& corpus, const BatchLimits& limits, const Cells& cell_of) {
  std::vector<uint64_t> ends(kCells + 1);
  const auto each_kept = [&](auto&& use) {
    for (int64_t pair = 0; pair < corpus.size(); ++pair) {
      const Corpus::Lengths at = limits.lengths(corpus, pair);
      if (limits.keeps(at)) use(static_cast<size_t>(cell_of(at)), static_cast<uint32_t>(pair));
    }
  };
  each_kept([&](size_t cell, uint32_t) { ++ends[cell + 1]; });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<uint32_t> pairs(ends.back());
  each_kept([&](size_t cell, uint32_t pair) { pairs[ends[cell]++] = pair; });
  ends.pop_back();
  return {std::move(pairs), std::move(ends)};
}

std::vector<uint64_t> cut_by_tokens(const Corpus& corpus, const BatchLimits& limits,
                                    std::span<const uint32_t> pairs) {
  std::vector<uint64_t> ends;
  int64_t source = 0, target = 0;
  size_t begin = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Corpus::Lengths at = limits.lengths(corpus, pairs[i]);
    const bool full =
        source + at.source > limits.max_tokens || target + at.target > limits.max_tokens ||
        (limits.max_sentences > 0 && static_cast<int64_t>(i - begin) == limits.max_sentences);
    if (full && i > begin) {
      ends.push_back(i);
      begin = i;
      source = target = 0;
    }
    source += at.source;
    target += at.target;
  }
  if (!pairs.empty()) ends.push_back(pairs.size());
  return ends;
}

// A stable sort by a key that is small enough to count.
template <class Key>
void counting_sort(std::vector<uint32_t>& values, size_t keys, Key key) {
  std::vector<size_t> next(keys + 1);
  for (const uint32_t value : values) ++next[key(value) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<uint32_t> sorted(values.size());
  for (const uint32_t value : values) sorted[next[key(value)]++] = value;
  values = std::move(sorted);
}

// fairseq's greedy rule. A batch [begin, end) is complete: its size is below `multiple` or a
// multiple of it. Sentences after `end` wait until they make a larger complete batch. When the
// batch with them would be too large, it closes at `end` and they begin the next one; if they are
// too large by themselves, they become a separate batch without the current sentence.
std::vector<uint64_t> cut_by_padded_tokens(const Corpus& corpus, const BatchLimits& limits,
                                           std::span<const uint32_t> pairs, int64_t multiple) {
  std::vector<uint64_t> ends;
  int64_t begin = 0, end = 0;
  int64_t longest = 0, longest_waiting = 0;  // in [begin, end), in [end, i]
  const auto too_large = [&](int64_t sentences, int64_t length) {
    return sentences * length > limits.max_tokens;
  };
  for (int64_t i = 0; i < static_cast<int64_t>(pairs.size()); ++i) {
    const Corpus::Lengths at = limits.lengths(corpus, pairs[static_cast<size_t>(i)]);
    const int64_t length = std::max(at.source, at.target);
    longest_waiting = std::max(longest_waiting, length);
    const int64_t sentences = i + 1 - begin;
    const int64_t longest_of_all = std::max(longest, longest_waiting);
    if (too_large(sentences, longest_of_all) ||
        (limits.max_sentences > 0 && sentences > limits.max_sentences)) {
      ends.push_back(static_cast<uint64_t>(end));
      begin = end;
      if (too_large(i + 1 - begin, longest_waiting)) {
        ends.push_back(static_cast<uint64_t>(i));
        begin = i;
        longest_waiting = length;
      }
      longest = longest_waiting;
    } else if (sentences < multiple || sentences % multiple == 0) {
      longest = longest_of_all;
    } else {
      continue;
    }
    end = i + 1;
    longest_waiting = 0;
  }
  if (end > 0) ends.push_back(static_cast<uint64_t>(end));
  if (end < static_cast<int64_t>(pairs.size())) ends.push_back(pairs.size());
  return ends;
}

}  // namespace

Grouping compose_by_length(const Corpus& corpus, const BatchLimits& limits, uint64_t seed,
                           uint64_t stream) {
  const Cells cell_of(Random(seed, stream | (kCells - 1)));  // a cell that no length reaches
  Grouping made = sort_by_cell(corpus, limits, cell_of);
  const std::span<uint32_t> pairs(made.pairs);
  parallel_for(kCells, kSide, [&](int64_t first, int64_t last) {
    for (auto cell = static_cast<size_t>(first); cell < static_cast<size_t>(last); ++cell) {
      const size_t begin = cell == 0 ? 0 : made.ends[cell - 1];
      Random(seed, stream | cell).shuffle(pairs.subspan(begin, made.ends[cell] - begin));
    }
  });
  made.ends = cut_by_tokens(corpus, limits, pairs);
  return made;
}

Grouping compose_as_fairseq(const Corpus& corpus, const BatchLimits& limits, uint32_t seed,
                            int64_t multiple) {
  std::vector<uint32_t> pairs(static_cast<size_t>(corpus.size()));
  std::iota(pairs.begin(), pairs.end(), 0u);
  numpy_shuffle(pairs, seed);  // pairs that are left out take part in it
  std::erase_if(pairs, [&](uint32_t pair) { return !limits.keeps(limits.lengths(corpus, pair)); });
  Corpus::Lengths longest{0, 0};
  for (const uint32_t pair : pairs) {
    const Corpus::Lengths at = limits.lengths(corpus, pair);
    longest = {std::max(longest.source, at.source), std::max(longest.target, at.target)};
  }
  counting_sort(pairs, static_cast<size_t>(longest.target) + 1, [&](uint32_t pair) {
    return static_cast<size_t>(limits.lengths(corpus, pair).target);
  });
  counting_sort(pairs, static_cast<size_t>(longest.source) + 1, [&](uint32_t pair) {
    return static_cast<size_t>(limits.lengths(corpus, pair).source);
  });
  std::vector<uint64_t> ends = cut_by_padded_tokens(corpus, limits, pairs, multiple);
  return {std::move(pairs), std::move(ends)};
}

void numpy_shuffle(std::span<uint32_t> values, uint32_t seed) {
  std::mt19937 generator(seed);
  for (size_t i = values.size(); i-- > 1;) {
    // Rejection under the smallest mask that covers i: numpy's random_interval.
    const auto last = static_cast<uint32_t>(i);
    const uint32_t mask = ~uint32_t{0} >> std::countl_zero(last);
    uint32_t j;
    do j = static_cast<uint32_t>(generator()) & mask;
    while (j > last);
    std::swap(values[i], values[j]);
  }
}

}  // namespace residual::data
