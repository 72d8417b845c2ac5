#include "data/lexicon.h"

#include <algorithm>

#include "text/vocabulary.h"

namespace residual::data {
namespace {

using text::Vocabulary;

// Where target symbols come from that translate nothing: a symbol that no source has.
constexpr int32_t kNothing = Vocabulary::kBos;

// t(y | x) of the pairs of symbols that occur together, and expected counts of them. Open
// addressing: there are tens of millions. With text::PairTable and the numbers beside it, learning
// took more than three times as long.
class PairTable {
 public:
  struct Slot {
    uint64_t key = kFree;
    float t = 1;
    float count = 0;
  };

  PairTable() : slots_(1 << 16) {}

  // REQUIRES: there is room for one more, by reserve().
  Slot& at(int32_t x, int32_t y) {
    const uint64_t key = static_cast<uint64_t>(x) << 32 | static_cast<uint32_t>(y);
    Slot* const slot = find(key);
    if (slot->key != key) ++used_;
    slot->key = key;
    return *slot;
  }

  template <class Visit>
  void for_each(const Visit& visit) {
    for (auto& slot : slots_) {
      if (slot.key == kFree) continue;
      visit(static_cast<int32_t>(slot.key >> 32), static_cast<int32_t>(slot.key), slot);
    }
  }
  // Makes room for `more` entries, so that slots do not move while these are added.
  void reserve(size_t more) {
    while (2 * (used_ + more) > slots_.size()) grow();
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};

  Slot* find(uint64_t key) {
    constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
    const size_t mask = slots_.size() - 1;
    for (size_t i = (key * kGolden) >> 20 & mask;; i = (i + 1) & mask) {
      if (slots_[i].key == key || slots_[i].key == kFree) return &slots_[i];
    }
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    std::swap(old, slots_);
    for (const auto& slot : old) {
      if (slot.key != kFree) *find(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

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
  PairTable table;
  std::vector<double> total(static_cast<size_t>(source_symbols));  // of a source symbol's counts
  std::vector<PairTable::Slot*> slots;
  for (int64_t iteration = 0; iteration < o.iterations; ++iteration) {
    std::ranges::fill(total, 0);
    for_pairs(corpora, o, [&](const auto& source, const auto& target) {
      progress();
      const auto longest = static_cast<int64_t>(std::max(source.size() - 1, target.size()));
      if (longest > o.longest) return;
      for (const int32_t y : target) {
        table.reserve(source.size());
        slots.clear();
        double sum = 0;
        for (const int32_t x : source) {
          slots.push_back(&table.at(x, y));
          sum += slots.back()->t;
        }
        for (size_t i = 0; i < source.size(); ++i) {
          const double share = slots[i]->t / sum;
          slots[i]->count += static_cast<float>(share);
          total[source[i]] += share;
        }
      }
    });
    table.for_each([&](int32_t x, int32_t /*y*/, PairTable::Slot& slot) {
      slot.t = total[x] == 0 ? 0 : static_cast<float>(slot.count / total[x]);
      slot.count = 0;
    });
  }

  std::vector<std::vector<Translated>> lexicon(total.size());
  table.for_each([&](int32_t x, int32_t y, const PairTable::Slot& slot) {
    if (x != kNothing && slot.t >= o.least) lexicon[x].push_back({y, slot.t});
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
