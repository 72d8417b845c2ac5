#include "text/bpe_learner.h"
#include "support/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/parallel.h"
#include "support/temporary.h"
#include "text/bpe_data.h"

namespace residual::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::ThrowsMessage;

std::string learnt_from(const std::vector<fs::path>& files, const BpeLearnOptions& options) {
  return format_codes(learn_bpe(count_words(files, Invalid::refuse, count_bpe_words), options));
}

WordCounts counts_of(std::string_view line) {
  WordCounts counts;
  count_bpe_words(line, counts);
  return counts;
}

const std::vector<fs::path>& tokenised() {
  static const std::vector<fs::path> files{fs::path(test::fixtures()) / "moses/tok.en",
                                           fs::path(test::fixtures()) / "moses/tok.de"};
  return files;
}

TEST(BpeLearner, WritesTheCodesOfSubwordNmt) {
  EXPECT_EQ(learnt_from(tokenised(), {.merges = 100}), read_file(bpe_file("100.codes")));
  EXPECT_EQ(learnt_from(tokenised(), {.merges = 400}), read_file(bpe_file("400.codes")));
}

TEST(BpeLearner, SharesTheQuirksOfSubwordNmtOnOddText) {
  const std::vector<fs::path> files{bpe_file("odd.in")};
  EXPECT_EQ(learnt_from(files, {.merges = 300}), read_file(bpe_file("odd.codes")));
}

TEST(BpeLearner, TheNumberOfThreadsChangesNothing) {
  const std::string expected = read_file(bpe_file("400.codes"));
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    EXPECT_EQ(learnt_from(tokenised(), {.merges = 400}), expected) << threads;
  }
}

TEST(BpeLearner, TheLargerPairWinsATie) {
  EXPECT_THAT(learn_bpe(counts_of("ab ab cd cd"), {.merges = 5}),
              ElementsAre(Pair("c", "d</w>"), Pair("a", "b</w>")));
}

TEST(BpeLearner, StopsBelowTheMinimumFrequency) {
  EXPECT_TRUE(learn_bpe(counts_of("ab cd ef"), {.merges = 5}).empty());
  EXPECT_EQ(learn_bpe(counts_of("ab cd ef"), {.merges = 5, .min_frequency = 1}).size(), 3u);
}

TEST(BpeLearner, TotalSymbolsTakesTheCharactersOff) {
  // a, b, b</w>, c</w>
  EXPECT_EQ(learn_bpe(counts_of("aab aab abc abc"), {.merges = 5, .total_symbols = true}).size(),
            1u);
}

TEST(BpeLearner, NoTextGivesNoMerges) {
  EXPECT_EQ(format_codes(learn_bpe({}, {})), "#version: 0.2\n");
  EXPECT_EQ(format_codes(learn_bpe(counts_of("a b c a"), {})), "#version: 0.2\n");
}

TEST(BpeLearner, AWordMayBeLong) {
  const std::string word(1'000'000, 'x');
  const auto merges = learn_bpe(counts_of(word), {.merges = 3});
  EXPECT_THAT(merges, ElementsAre(Pair("x", "x"), Pair("xx", "xx"), Pair("xxxx", "xxxx")));
}

TEST(BpeLearner, CountsThatCannotBeAddedAreRefused) {
  WordCounts counts;
  counts.add("abc", uint64_t{1} << 63);
  EXPECT_THAT([&] { learn_bpe(counts, {}); }, ThrowsMessage<Error>(HasSubstr("2^53")));
}

TEST(CountBpeWords, SplitsAtSpacesAndWherePythonEndsLines) {
  const WordCounts counts = counts_of(
      "a  b\rb \x0b\xc2\x85"
      "c\xe2\x80\xa8"
      "d\te ");
  EXPECT_EQ(counts.count("b"), 2u);
  EXPECT_EQ(counts.count("\x0b"), 1u);
  EXPECT_EQ(counts.count("\xc2\x85"), 1u);
  EXPECT_EQ(counts.count("c\xe2\x80\xa8"), 1u);
  EXPECT_EQ(counts.count("d\te"), 1u);
  EXPECT_EQ(counts.size(), 6u);
}

TEST(ForEachWordCount, ReadsWordsAndNamesTheLineOfWhatIsNone) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "counts", "ab 3\r\ncd 18446744073709551615\n");
  WordCounts counts;
  const auto add = [&](std::string_view word, uint64_t count) { counts.add(word, count); };
  for_each_word_count(directory / "counts", Invalid::refuse, add);
  EXPECT_EQ(counts.count("ab"), 3u);
  EXPECT_EQ(counts.count("cd"), UINT64_MAX);
  for (const char* bad : {"ab", "", "ab x", "ab -1", "a b 3", "ab 3x", "ab 99999999999999999999"}) {
    replace_file(directory / "counts", std::string("ok 1\n") + bad + "\n");
    EXPECT_THAT([&] { for_each_word_count(directory / "counts", Invalid::refuse, add); },
                ThrowsMessage<Error>(HasSubstr("counts:2: expected a word")))
        << bad;
  }
}

}  // namespace
}  // namespace residual::text
