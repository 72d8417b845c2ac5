#include "data/lexicon.h"

#include <algorithm>

#include "text/pair_table.h"
#include "text/vocabulary.h"

namespace residual::data {
namespace {

using text::Vocabulary;

// Where target symbols come from that translate nothing: a symbol that no source has.
constexpr int32_t kNothing = Vocabulary::kBos;

// t(y | x) of a pair of symbols that occur together, and the expected count of it.
struct Entry {
  int32_t x, y;
  float t = 1, count = 0;
};

class Entries {
 public:
  // The pair's number, which is new if it was not seen before.
  uint32_t find(int32_t x, int32_t y) {
    const auto next = static_cast<uint32_t>(all_.size());
    const uint32_t number = numbers_.add(static_cast<uint32_t>(x), static_cast<uint32_t>(y), next);
    if (number == next) all_.push_back({x, y});
    return number;
  }
  Entry& operator[](uint32_t number) { return all_[number]; }
  std::span<Entry> all() { return all_; }

 private:
  text::PairTable numbers_;
  std::vector<Entry> all_;
};

int64_t size_of(std::span<const Corpus> corpora) {
  int64_t all = 0;
  for (const auto& corpus : corpora) all += corpus.size();
  return all;
}

// Calls visit(source, target) for the pairs that are looked at, without their </s>.
template <class Visit>
void for_pairs(std::span<const Corpus> corpora, const LexiconOptions& o, const Visit& visit) {
  const int64_t wanted = pairs_of(corpora, o), all = size_of(corpora);
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
  const int64_t all = size_of(corpora);
  return o.pairs == 0 ? all : std::min(all, o.pairs);
}

std::vector<std::vector<Translated>> learn_lexicon(std::span<const Corpus> corpora,
                                                   int64_t source_symbols, const LexiconOptions& o,
                                                   const std::function<void()>& progress) {
  Entries entries;
  std::vector<double> total(static_cast<size_t>(source_symbols));  // of a source symbol's counts
  std::vector<uint32_t> numbers;  // of a target symbol with each of the source's
  for (int64_t iteration = 0; iteration < o.iterations; ++iteration) {
    std::ranges::fill(total, 0);
    for_pairs(corpora, o, [&](const auto& source, const auto& target) {
      progress();
      const auto longest = static_cast<int64_t>(std::max(source.size() - 1, target.size()));
      if (longest > o.longest) return;
      for (const int32_t y : target) {
        numbers.clear();
        double sum = 0;
        for (const int32_t x : source) {
          numbers.push_back(entries.find(x, y));
          sum += entries[numbers.back()].t;
        }
        for (const uint32_t number : numbers) {
          Entry& entry = entries[number];
          const double share = entry.t / sum;
          entry.count += static_cast<float>(share);
          total[entry.x] += share;
        }
      }
    });
    for (Entry& entry : entries.all()) {
      entry.t = total[entry.x] == 0 ? 0 : static_cast<float>(entry.count / total[entry.x]);
      entry.count = 0;
    }
  }

  std::vector<std::vector<Translated>> lexicon(total.size());
  for (const Entry& entry : entries.all()) {
    if (entry.x != kNothing && entry.t >= o.least) lexicon[entry.x].push_back({entry.y, entry.t});
  }
  for (auto& translations : lexicon) {
    std::ranges::sort(translations, [](const Translated& a, const Translated& b) {
      return a.probability != b.probability ? a.probability > b.probability : a.symbol < b.symbol;
    });
    if (static_cast<int64_t>(translations.size()) > o.best) translations.resize(o.best);
  }
  return lexicon;
}

}  // namespace residual::data
