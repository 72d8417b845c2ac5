#include "fetch/split.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace residual::fetch {
namespace {

std::vector<SentencePair> numbered(int count) {
  std::vector<SentencePair> pairs;
  for (int i = 0; i < count; ++i) {
    std::string letters;
    for (int rest = i + 1; rest > 0; rest /= 26) letters += static_cast<char>('a' + rest % 26);
    pairs.push_back({"english " + letters, "deutsch " + letters});
  }
  return pairs;
}

TEST(Folded, CaseDigitsAndPunctuationDoNotCount) {
  EXPECT_EQ(folded("Linux 6.1.0-32, built 2025!"), folded("linux 5.10.0-9 (built 1999)"));
  EXPECT_NE(folded("two words"), folded("two swords"));
  EXPECT_EQ(folded("Größe: 1"), "größe0");
}

TEST(DropDuplicates, LeavesOneOfEachAndForgetsTheOrder) {
  std::vector<SentencePair> a = numbered(100), b = a;
  b.insert(b.end(), a.begin(), a.end());
  std::reverse(b.begin(), b.end());
  drop_duplicates(a);
  drop_duplicates(b);
  EXPECT_EQ(a.size(), 100u);
  EXPECT_EQ(a, b);
}

TEST(DropDuplicates, KeepsTwoTranslationsOfOneSentence) {
  std::vector<SentencePair> pairs = {{"a", "b"}, {"a", "c"}, {"a", "b"}, {"ab", ""}};
  drop_duplicates(pairs);
  EXPECT_EQ(pairs.size(), 3u);
}

TEST(SplitByContent, DoesNotDependOnTheOrderOfThePairs) {
  std::vector<SentencePair> forwards = numbered(500), backwards = forwards;
  std::reverse(backwards.begin(), backwards.end());
  const Split a = split_by_content(forwards, 20, 30), b = split_by_content(backwards, 20, 30);
  EXPECT_EQ(a.train, b.train);
  EXPECT_EQ(a.dev, b.dev);
  EXPECT_EQ(a.test, b.test);
  EXPECT_EQ(a.dev.size(), 20u);
  EXPECT_EQ(a.test.size(), 30u);
  EXPECT_EQ(a.train.size(), 450u);
}

TEST(SplitByContent, MorePairsLeaveMostOfTheTestSetAsItWas) {
  std::vector<SentencePair> pairs = numbered(1000);
  const Split before = split_by_content({pairs.begin(), pairs.begin() + 950}, 0, 100);
  const Split after = split_by_content(pairs, 0, 100);
  std::set<SentencePair> kept(before.test.begin(), before.test.end());
  const auto same = std::count_if(after.test.begin(), after.test.end(),
                                  [&](const SentencePair& pair) { return kept.contains(pair); });
  EXPECT_GT(same, 80);
}

// Every sentence occurs in many pairs, in other spellings too.
TEST(SplitByContent, NoSentenceOfEitherSideIsInTwoParts) {
  std::vector<SentencePair> pairs;
  for (int i = 0; i < 400; ++i) {
    const SentencePair base = numbered(200)[static_cast<size_t>(i % 200)];
    pairs.push_back({base.first + fmt::format(" {}", i), base.second});
    pairs.push_back({base.first, base.second + "!"});
    pairs.push_back({fmt::format("Only {} here", base.first), base.second});
  }
  const Split split = split_by_content(pairs, 20, 20);
  std::set<std::string> first, second;
  for (const auto* part : {&split.dev, &split.test}) {
    for (const SentencePair& pair : *part) {
      EXPECT_TRUE(first.insert(folded(pair.first)).second) << pair.first;
      EXPECT_TRUE(second.insert(folded(pair.second)).second) << pair.second;
    }
  }
  for (const SentencePair& pair : split.train) {
    EXPECT_FALSE(first.contains(folded(pair.first))) << pair.first;
    EXPECT_FALSE(second.contains(folded(pair.second))) << pair.second;
  }
  EXPECT_GT(split.overlapping, 0u);
  EXPECT_FALSE(split.train.empty());
}

TEST(SplitByContent, TooFewPairsAreAnError) {
  EXPECT_THROW(split_by_content(numbered(10), 5, 5), Error);
  EXPECT_THROW(split_by_content({}, 0, 0), Error);
  EXPECT_EQ(split_by_content(numbered(10), 0, 0).train.size(), 10u);
}

}  // namespace
}  // namespace residual::fetch
