#include "data/lexicon.h"

#include <algorithm>

#include "base/flat_table.h"
#include "text/vocabulary.h"

namespace residual::data {
namespace {

using text::Vocabulary;

// Where target symbols come from that translate nothing: a symbol that no source has.
constexpr int32_t kNothing = Vocabulary::kBos;

// A pair of symbols that occur together: t(y | x), and its expected count.
struct Cooccurrence {
  static constexpr uint64_t kFree = ~uint64_t{0};

  int32_t source() const { return static_cast<int32_t>(key >> 32); }
  int32_t target() const { return static_cast<int32_t>(key); }

  uint64_t key = kFree;
  float t = 1;
  float count = 0;
};

// There are tens of millions of pairs, and their numbers lie in the slots: with text::PairTable and
// the numbers beside it, learning took more than three times as long.
struct CooccurrenceLayout {
  using Slot = Cooccurrence;
  static bool is_free(const Cooccurrence& pair) { return pair.key == Cooccurrence::kFree; }
  static uint64_t hash(const Cooccurrence& pair) { return hash_of(pair.key); }
  static uint64_t hash_of(uint64_t key) { return key * kGoldenRatio >> 20; }
};
using CooccurrenceTable = FlatTable<CooccurrenceLayout>;

// REQUIRES: the table has room for one more.
Cooccurrence& cooccurrence(CooccurrenceTable& table, int32_t x, int32_t y) {
  const uint64_t key = static_cast<uint64_t>(x) << 32 | static_cast<uint32_t>(y);
  return table.find_or_mark(
      CooccurrenceLayout::hash_of(key), [=](const Cooccurrence& pair) { return pair.key == key; },
      [=](Cooccurrence& pair) { pair.key = key; });
}

// Calls visit(source, target) for the pairs that are looked at, without their </s>.
template <class Visit>
void for_pairs(std::span<const Corpus> corpora, const LexiconOptions& o, const Visit& visit) {
  const int64_t wanted = pairs_of(corpora, o);
  int64_t all = 0;
  for (const auto& corpus : corpora) all += corpus.size();
  std::vector<int32_t> source, target;
  int64_t first = 0;  // of the corpus, among all
  size_t c = 0;
  for (int64_t i = 0; i < wanted; ++i) {
    const int64_t at = i * all / wanted;
    while (at - first >= corpora[c].size()) first += corpora[c++].size();
    source.assign(1, kNothing);
    target.clear();
    corpora[c].append(at - first, source, target);
    source.pop_back();
    target.pop_back();
    visit(source, target);
  }
}

}  // namespace

int64_t pairs_of(std::span<const Corpus> corpora, const LexiconOptions& o) {
  int64_t all = 0;
  for (const auto& corpus : corpora) all += corpus.size();
  return o.pairs == 0 ? all : std::min(all, o.pairs);
}

std::vector<std::vector<Translated>> learn_lexicon(std::span<const Corpus> corpora,
                                                   int64_t source_symbols, const LexiconOptions& o,
                                                   const std::function<void()>& progress) {
  CooccurrenceTable table(1 << 16);
  std::vector<double> total(static_cast<size_t>(source_symbols));  // of a source symbol's counts
  std::vector<Cooccurrence*> pairs;                                // of one target symbol
  for (int64_t iteration = 0; iteration < o.iterations; ++iteration) {
    std::ranges::fill(total, 0);
    for_pairs(corpora, o, [&](const auto& source, const auto& target) {
      progress();
      const auto longest = static_cast<int64_t>(std::max(source.size() - 1, target.size()));
      if (longest > o.longest) return;
      for (const int32_t y : target) {
        table.reserve(table.size() + source.size());  // so that pairs stay where they are
        pairs.clear();
        double sum = 0;
        for (const int32_t x : source) {
          pairs.push_back(&cooccurrence(table, x, y));
          sum += pairs.back()->t;
        }
        for (size_t i = 0; i < source.size(); ++i) {
          const double share = pairs[i]->t / sum;
          pairs[i]->count += static_cast<float>(share);
          total[source[i]] += share;
        }
      }
    });
    table.for_each([&](Cooccurrence& pair) {
      const double all = total[pair.source()];
      pair.t = all == 0 ? 0 : static_cast<float>(pair.count / all);
      pair.count = 0;
    });
  }

  std::vector<std::vector<Translated>> lexicon(total.size());
  table.for_each([&](const Cooccurrence& pair) {
    if (pair.source() != kNothing && pair.t >= o.least)
      lexicon[pair.source()].push_back({pair.target(), pair.t});
  });
  for (auto& translations : lexicon) {
    std::ranges::sort(translations, [](const Translated& a, const Translated& b) {
      return a.probability != b.probability ? a.probability > b.probability : a.symbol < b.symbol;
    });
    if (static_cast<int64_t>(translations.size()) > o.best) translations.resize(o.best);
  }
  return lexicon;
}

}  // namespace residual::data
