#include "data/clean.h"

#include <gtest/gtest.h>

#include "data/pairs.h"
#include "support/paths.h"

namespace residual::data {
namespace {

const std::string kFixtures = test::fixtures() + "/clean/";

Verdict clean(const CleanOptions& options, std::string source, std::string target) {
  return Cleaner(options)(source, target);
}

class MosesCleaning : public testing::TestWithParam<const char*> {};

TEST_P(MosesCleaning, KeepsTheSameLinesAndWritesThemTheSame) {
  Cleaner cleaner({.min_words = 2,
                   .max_words = 8,
                   .max_ratio = 1.5,
                   .max_word_characters = 40,
                   .remove_bars = true});
  const std::string name = kFixtures + GetParam();
  PairReader reader({find_pair_files(name, "en", "de", {})}, text::Invalid::refuse);
  std::string english, german;
  while (const auto block = reader.next()) {
    for (size_t i = 0; i < block->numbers.size(); ++i) {
      std::string source(block->source[i]), target(block->target[i]);
      if (block->numbers[i] == 1) cleaner.see_first(source, target);
      if (cleaner(source, target) != Verdict::kept) continue;
      english += source + '\n';
      german += target + '\n';
    }
  }
  EXPECT_EQ(english, read_file(name + ".clean.en"));
  EXPECT_EQ(german, read_file(name + ".clean.de"));
}

INSTANTIATE_TEST_SUITE_P(Text, MosesCleaning, testing::Values("plain", "factored"));

TEST(Cleaner, EachLimitIsTheLastThatPasses) {
  const CleanOptions options{
      .min_words = 2, .max_words = 4, .max_ratio = 1.5, .max_word_characters = 3};
  EXPECT_EQ(clean(options, "a b", "a b c"), Verdict::kept);
  EXPECT_EQ(clean(options, "a b", "a b c d"), Verdict::ratio);
  EXPECT_EQ(clean(options, "a b c d", "a b"), Verdict::ratio);
  EXPECT_EQ(clean(options, "a b c d", "a b c d"), Verdict::kept);
  EXPECT_EQ(clean(options, "a b c d e", "a b c d"), Verdict::too_long);
  EXPECT_EQ(clean(options, "a b", "a"), Verdict::too_short);
  EXPECT_EQ(clean(options, "äöü b", "a b"), Verdict::kept);
  EXPECT_EQ(clean(options, "äöüß b", "a b"), Verdict::long_word);
  EXPECT_EQ(clean(options, " \u00a0 ", "a b"), Verdict::empty);
}

TEST(Cleaner, BarsStayUnlessTheyAreToGo) {
  std::string source = "a | b", target = "c|d e";
  Cleaner({})(source, target);
  EXPECT_EQ(source + "/" + target, "a | b/c|d e");
  Cleaner({.remove_bars = true})(source, target);
  EXPECT_EQ(source + "/" + target, "a b/cd e");
}

TEST(Cleaner, AVeryLongLineIsOnlyTooLong) {
  std::string line;
  for (int i = 0; i < 3'000'000; ++i) line += "xy ";
  EXPECT_EQ(clean({}, line, "a"), Verdict::too_long);
  EXPECT_EQ(clean({}, std::string(10'000'000, 'x'), "a"), Verdict::long_word);
}

}  // namespace
}  // namespace residual::data
