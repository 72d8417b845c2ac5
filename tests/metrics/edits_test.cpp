#include "metrics/edits.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "metrics/ter.h"

namespace residual::metrics {
namespace {

using Words = std::vector<uint32_t>;

int64_t edits(const Words& hypothesis, const Words& reference) {
  return translation_edits(hypothesis, reference);
}

// The whole matrix, without a band.
int32_t levenshtein(const Words& a, const Words& b) {
  std::vector<int32_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (const uint32_t word : a) {
    int32_t diagonal = row[0]++;
    for (size_t j = 1; j < row.size(); ++j) {
      const int32_t changed = diagonal + (word == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

TEST(Edits, InsertionDeletionSubstitutionAndShiftCostOneEach) {
  EXPECT_EQ(edits({1, 2, 3}, {1, 2, 3}), 0);
  EXPECT_EQ(edits({1, 3}, {1, 2, 3}), 1);
  EXPECT_EQ(edits({1, 2, 9, 3}, {1, 2, 3}), 1);
  EXPECT_EQ(edits({1, 9, 3}, {1, 2, 3}), 1);
  EXPECT_EQ(edits({4, 5, 6, 1, 2, 3}, {1, 2, 3, 4, 5, 6}), 1);
}

TEST(Edits, AnEmptySideCostsTheOther) {
  EXPECT_EQ(edits({}, {1, 2}), 2);
  EXPECT_EQ(edits({1, 2, 3}, {}), 3);
  EXPECT_EQ(edits({}, {}), 0);
}

TEST(Edits, ShiftsReachFiftyWordsAndNoFurther) {
  Words reference(200);
  std::iota(reference.begin(), reference.end(), 0);
  const auto moved = [&](size_t distance) {
    Words hypothesis = reference;
    std::rotate(hypothesis.begin() + 60, hypothesis.begin() + 61,
                hypothesis.begin() + 61 + static_cast<ptrdiff_t>(distance));
    return edits(hypothesis, reference);
  };
  EXPECT_EQ(moved(50), 1);
  EXPECT_EQ(moved(51), 2);  // a deletion and an insertion
}

TEST(BandedDistance, IsTheLevenshteinDistanceWhileTheBandIsWideEnough) {
  const Random random(3);
  uint64_t at = 0;
  for (int round = 0; round < 300; ++round) {
    Words a(random.below(at++, 20)), b(random.below(at++, 20));
    for (auto& word : a) word = static_cast<uint32_t>(random.below(at++, 5));
    for (auto& word : b) word = static_cast<uint32_t>(random.below(at++, 5));
    BandedDistance distance(a.size(), b);
    EXPECT_EQ(distance.base(a), levenshtein(a, b));
  }
}

TEST(BandedDistance, AChangedHypothesisCostsWhatAFreshOneDoes) {
  const Random random(4);
  uint64_t at = 0;
  for (int round = 0; round < 300; ++round) {
    Words a(1 + random.below(at++, 120)), b(1 + random.below(at++, 120));
    for (auto& word : a) word = static_cast<uint32_t>(random.below(at++, 8));
    for (auto& word : b) word = static_cast<uint32_t>(random.below(at++, 8));
    const size_t first = random.below(at++, a.size());
    const size_t last = first + 1 + random.below(at++, a.size() - first);
    Words changed = a;
    for (size_t i = first; i < last; ++i) {
      changed[i] = static_cast<uint32_t>(random.below(at++, 8));
    }
    BandedDistance distance(a.size(), b), fresh(a.size(), b);
    distance.base(a);
    EXPECT_EQ(distance.changed(changed, first, last), fresh.base(changed));
  }
}

TEST(Ter, EmptyReferencesMakeAnyWordWrong) {
  EXPECT_EQ(corpus_ter(Lines{"a"}, {{""}}), 100);
  EXPECT_EQ(corpus_ter(Lines{""}, {{""}}), 0);
  EXPECT_EQ(corpus_ter(Lines{""}, {{"a b"}}), 100);
}

TEST(Ter, EditsToTheClosestReferenceOverTheAverageLength) {
  EXPECT_NEAR(corpus_ter(Lines{"a b c"}, {{"a b d"}, {"x y z u v"}}), 100 * 1.0 / 4, 1e-12);
}

}  // namespace
}  // namespace residual::metrics
