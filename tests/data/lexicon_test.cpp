#include "data/lexicon.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/corpora.h"

namespace residual::data {
namespace {

using test::kEos;
using test::Pairs;
using test::Sentence;

constexpr int32_t kSymbols = 60;

// Each source symbol x is one of x + 100 and x + 200, which comes a third of the time, in any
// order; a quarter of the sentences has the symbol 99 besides, which translates nothing.
Pairs dictionary_pairs(int64_t count) {
  const Random random(3);
  uint64_t at = 0;
  const auto below = [&](uint64_t n) { return static_cast<int32_t>(random.below(at++, n)); };
  Pairs pairs;
  for (int64_t i = 0; i < count; ++i) {
    Sentence source, target;
    for (int32_t n = 3 + below(8); n > 0; --n) {
      source.push_back(4 + below(kSymbols - 4));
      target.insert(target.begin(), source.back() + (below(3) == 0 ? 200 : 100));
    }
    if (below(4) == 0) target.push_back(99);
    source.push_back(kEos);
    target.push_back(kEos);
    pairs.emplace_back(source, target);
  }
  return pairs;
}

class Lexicon : public testing::Test {
 protected:
  std::vector<Corpus> corpora(const std::vector<Pairs>& all) {
    std::vector<Corpus> made;
    for (size_t i = 0; i < all.size(); ++i) {
      made.push_back(test::write_corpus(directory_ / std::to_string(i), all[i]));
    }
    return made;
  }
  static auto learn(std::span<const Corpus> corpora, const LexiconOptions& options) {
    return learn_lexicon(corpora, kSymbols, options, [] {});
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Lexicon, FindsWhatTranslatesWhat) {
  const auto made = corpora({dictionary_pairs(3000)});
  const auto lexicon = learn(made, {.iterations = 10});
  ASSERT_EQ(lexicon.size(), static_cast<size_t>(kSymbols));
  for (int32_t x = 0; x < 4; ++x) EXPECT_TRUE(lexicon[x].empty());
  for (int32_t x = 4; x < kSymbols; ++x) {
    ASSERT_GE(lexicon[x].size(), 2u);
    EXPECT_EQ(lexicon[x][0].symbol, x + 100);
    EXPECT_EQ(lexicon[x][1].symbol, x + 200);
    EXPECT_NEAR(lexicon[x][0].probability, 0.667, 0.1);
    EXPECT_NEAR(lexicon[x][1].probability, 0.333, 0.1);
  }
}

// Model 1 written down as it is in the literature, on dense tables.
TEST_F(Lexicon, IsModel1) {
  const Pairs pairs = dictionary_pairs(40);
  std::map<std::pair<int32_t, int32_t>, double> t;
  for (int iteration = 0; iteration < 3; ++iteration) {
    std::map<std::pair<int32_t, int32_t>, double> count;
    std::map<int32_t, double> total;
    for (const auto& [source, target] : pairs) {
      Sentence from(source.begin(), source.end() - 1);
      from.push_back(0);
      for (size_t j = 0; j + 1 < target.size(); ++j) {
        const auto now = [&](int32_t x) { return iteration == 0 ? 1 : t[{x, target[j]}]; };
        double sum = 0;
        for (const int32_t x : from) sum += now(x);
        for (const int32_t x : from) {
          count[{x, target[j]}] += now(x) / sum;
          total[x] += now(x) / sum;
        }
      }
    }
    for (const auto& [pair, c] : count) t[pair] = c / total[pair.first];
  }
  const auto made = corpora({pairs});
  size_t compared = 0;
  const auto lexicon = learn(made, {.iterations = 3, .best = 10000, .least = 0});
  for (int32_t x = 4; x < kSymbols; ++x) {
    for (const auto& [y, probability] : lexicon[x]) {
      EXPECT_NEAR(probability, (t.at({x, y})), 1e-5);
      ++compared;
    }
  }
  const auto is_real = [](const auto& each) { return each.first.first != 0; };
  EXPECT_EQ(compared, static_cast<size_t>(std::ranges::count_if(t, is_real)));
}

TEST_F(Lexicon, LooksAtAsManyPairsAsItIsAsked) {
  const Pairs all = dictionary_pairs(50);
  const auto one = corpora({all});
  const auto parts = corpora({{all.begin(), all.begin() + 20}, {all.begin() + 20, all.end()}});
  EXPECT_EQ(pairs_of(parts, {.pairs = 0}), 50);
  EXPECT_EQ(pairs_of(parts, {.pairs = 7}), 7);
  for (const int64_t pairs : {0, 7, 50, 1000}) {
    int64_t seen = 0;
    const LexiconOptions options = {.pairs = pairs, .iterations = 2};
    const auto lexicon = learn_lexicon(parts, kSymbols, options, [&] { ++seen; });
    EXPECT_EQ(seen, 2 * pairs_of(parts, options));
    const auto expected = learn(one, options);
    for (size_t x = 0; x < lexicon.size(); ++x) {
      EXPECT_TRUE(std::ranges::equal(lexicon[x], expected[x], [](const auto& a, const auto& b) {
        return a.symbol == b.symbol && a.probability == b.probability;
      }));
    }
  }
}

TEST_F(Lexicon, KeepsTheBestAndLeavesOutTheLong) {
  const auto made = corpora({dictionary_pairs(300)});
  for (const auto& translations : learn(made, {.best = 3, .least = 0.01})) {
    EXPECT_LE(translations.size(), 3u);
    for (const auto& each : translations) EXPECT_GE(each.probability, 0.01F);
  }
  for (const auto& translations : learn(made, {.longest = 2})) EXPECT_TRUE(translations.empty());
}

}  // namespace
}  // namespace residual::data
