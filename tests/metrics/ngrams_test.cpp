#include "metrics/ngrams.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.h"

namespace residual::metrics {
namespace {

using Units = std::vector<uint32_t>;

std::map<Units, int64_t> counts(const Units& units, size_t order) {
  std::map<Units, int64_t> result;
  for (size_t i = 0; i + order <= units.size(); ++i) {
    ++result[Units(units.begin() + static_cast<ptrdiff_t>(i),
                   units.begin() + static_cast<ptrdiff_t>(i + order))];
  }
  return result;
}

TEST(NgramIndex, MatchesWhatCountingInAMapMatchesAlsoAfterClear) {
  const Random random(1);
  uint64_t at = 0;
  NgramIndex index;
  for (int round = 0; round < 200; ++round) {
    const auto text = [&] {
      Units units(random.below(at++, round % 20 == 0 ? 3000 : 40));
      for (auto& unit : units) unit = static_cast<uint32_t>(random.below(at++, 6));
      return units;
    };
    const Units first = text(), second = text(), hypothesis = text();
    index.clear();
    index.add(first, 5);
    index.add(second, 5);
    std::vector<int64_t> matches(5);
    index.match(hypothesis, matches);
    for (size_t order = 1; order <= 5; ++order) {
      auto limits = counts(first, order);
      for (const auto& [ngram, count] : counts(second, order)) {
        limits[ngram] = std::max(limits[ngram], count);
      }
      int64_t expected = 0;
      for (const auto& [ngram, count] : counts(hypothesis, order)) {
        if (limits.contains(ngram)) expected += std::min(count, limits[ngram]);
      }
      ASSERT_EQ(matches[order - 1], expected) << "order " << order << ", round " << round;
    }
  }
}

TEST(WordNumbers, AWordKeepsItsNumberWhileTheTableGrows) {
  std::vector<std::string> words;
  for (int i = 0; i < 1000; ++i) words.push_back(std::to_string(i));
  WordNumbers numbers;
  for (uint32_t i = 0; i < words.size(); ++i) EXPECT_EQ(numbers.add(words[i]), i);
  for (uint32_t i = 0; i < words.size(); ++i) EXPECT_EQ(numbers.find(words[i]), i);
  EXPECT_EQ(numbers.find("none"), WordNumbers::kUnknown);
  numbers.clear();
  EXPECT_EQ(numbers.find("7"), WordNumbers::kUnknown);
}

}  // namespace
}  // namespace residual::metrics
