#include "text/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/parallel.h"
#include "support/temporary.h"

namespace residual::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Vocabulary built(std::string_view line, const VocabularyRules& rules = {}) {
  WordCounts counts;
  VocabularyBuilder::count_line(line, counts);
  VocabularyBuilder builder;
  builder.merge(counts);
  return builder.finish(rules);
}

std::vector<int32_t> ids(const Vocabulary& vocabulary, std::string_view line) {
  std::vector<int32_t> out;
  vocabulary.encode(line, out);
  return out;
}

TEST(Vocabulary, OrdersByCountThenCodePointAndPadsToAMultiple) {
  EXPECT_EQ(built("b a c b 😀 \xef\xbf\xbd c b").format(),
            "b 3\nc 2\na 1\n\xef\xbf\xbd 1\n😀 1\n"
            "madeupword0000 0\nmadeupword0001 0\nmadeupword0002 0\nmadeupword0003 0\n"
            "madeupword0004 0\nmadeupword0005 0\nmadeupword0006 0\n");
}

TEST(Vocabulary, ThresholdAndSizeLeaveOutTheRarest) {
  EXPECT_EQ(built("a a a b b c", {.threshold = 2, .multiple = 1}).format(), "a 3\nb 2\n");
  EXPECT_EQ(built("a a a b b c", {.max_words = 5, .multiple = 1}).format(), "a 3\n");
  EXPECT_EQ(built("a b", {.max_words = 2, .multiple = 1}).size(), 4);
}

TEST(Vocabulary, SpecialSymbolsInTextKeepTheirIds) {
  const Vocabulary vocabulary = built("<unk> a </s> <pad> <s>", {.multiple = 1});
  EXPECT_EQ(vocabulary.format(), "a 1\n");
  EXPECT_THAT(ids(vocabulary, "<unk> a </s>"), ElementsAre(3, 4, 2, 2));
}

TEST(Vocabulary, AMadeUpWordInTextIsNotMadeUpAgain) {
  EXPECT_EQ(built("madeupword0000 a", {.multiple = 7}).format(),
            "a 1\nmadeupword0000 1\nmadeupword0001 0\n");
}

TEST(Vocabulary, EncodesWhatIsBetweenAnyWhiteSpaceAndEndsTheSentence) {
  const Vocabulary vocabulary = built("a b", {.multiple = 1});
  EXPECT_THAT(ids(vocabulary,
                  " a\t\xe3\x80\x80"
                  "b  x\xc2\xa0"
                  "a\r"),
              ElementsAre(4, 5, 3, 4, 2));
  EXPECT_THAT(ids(vocabulary, ""), ElementsAre(2));
  EXPECT_THAT(ids(vocabulary, " \x1c\xe2\x80\xa8"), ElementsAre(2));
}

TEST(Vocabulary, DecodesUpToTheEnd) {
  const Vocabulary vocabulary = built("a b", {.multiple = 1});
  EXPECT_EQ(vocabulary.decode(std::vector<int32_t>{1, 0, 5, 3, 4, 2, 4}), "b <unk> a");
  EXPECT_EQ(vocabulary.decode({}), "");
  EXPECT_THROW(vocabulary.decode(std::vector<int32_t>{6}), Error);
  EXPECT_THROW(vocabulary.decode(std::vector<int32_t>{-1}), Error);
}

TEST(Vocabulary, SurvivesSavingAndLoading) {
  const test::TemporaryDirectory directory;
  const Vocabulary vocabulary = built("a a b é 日本");
  vocabulary.save(directory / "dict.txt");
  const Vocabulary loaded = Vocabulary::load(directory / "dict.txt");
  EXPECT_EQ(loaded.format(), vocabulary.format());
  EXPECT_EQ(loaded.size(), 8);
  EXPECT_EQ(loaded.id("a"), 4);
  EXPECT_EQ(loaded.count(4), 2u);
  EXPECT_EQ(loaded.symbol(4), "a");
}

TEST(Vocabulary, AnOverwrittenSymbolHasItsLatestIdAlsoAfterSaving) {
  const std::string file = "a 1\nb 2\na 3 #fairseq:overwrite\n<unk> 4 #fairseq:overwrite\n";
  const Vocabulary vocabulary = Vocabulary::parse(file, "dict.txt");
  EXPECT_EQ(vocabulary.id("a"), 6);
  EXPECT_EQ(vocabulary.id("<unk>"), 7);
  EXPECT_EQ(vocabulary.id("x"), Vocabulary::kUnk);
  EXPECT_EQ(vocabulary.symbol(4), "a");
  EXPECT_EQ(vocabulary.format(), file);
}

TEST(Vocabulary, AByteOrderMarkIsNoPartOfTheFirstSymbol) {
  const std::string mark = "\xEF\xBB\xBF";
  const auto vocabulary = Vocabulary::parse(mark + "a 2\nb 1\n", "dict.txt");
  EXPECT_EQ(vocabulary.symbol(4), "a");
  EXPECT_EQ(vocabulary.format(), "a 2\nb 1\n");
}

TEST(Vocabulary, MalformedFilesAreNamedWithTheLine) {
  for (const char* bad : {"a", "", "a x", "a -1", " 3", "a 1.5", "a 3 #fairseq:other",
                          "a #fairseq:overwrite", "a 1\rb 2", "a 99999999999999999999"}) {
    EXPECT_THAT([&] { Vocabulary::parse(std::string("ok 1\n") + bad + "\nz 1\n", "dict.txt"); },
                ThrowsMessage<Error>(HasSubstr("dict.txt:2: expected a symbol")))
        << bad;
  }
  EXPECT_THAT([] { Vocabulary::parse("a 1\na 1\n", "dict.txt"); },
              ThrowsMessage<Error>(HasSubstr("dict.txt:2: \"a\" is already in the vocabulary")));
  EXPECT_THAT([] { Vocabulary::parse("<pad> 1\n", "dict.txt"); },
              ThrowsMessage<Error>(HasSubstr("dict.txt:1: \"<pad>\" is already in")));
  EXPECT_THAT([] { Vocabulary::parse("a 1\n\xff 1\n", "dict.txt"); },
              ThrowsMessage<Error>(HasSubstr("dict.txt:2: not valid UTF-8")));
}

TEST(Vocabulary, BuildersAddUpCounts) {
  WordCounts counts;
  VocabularyBuilder::count_line("x y", counts);
  VocabularyBuilder builder;
  builder.add("x", 2);
  builder.add("y", 1);
  builder.merge(counts);
  EXPECT_EQ(builder.finish({.multiple = 1}).format(), "x 3\ny 2\n");
}

TEST(CountWords, AddsUpAllFilesOnAnyNumberOfThreads) {
  const test::TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "w" + std::to_string(i % 1000) + " \n";
  replace_file(directory / "a", text);
  replace_file(directory / "b", "w0 w1");
  const std::vector<fs::path> files{directory / "a", directory / "b"};
  for (const int threads : {1, 4}) {
    set_thread_count(threads);
    const WordCounts counts = count_words(files, Invalid::refuse, VocabularyBuilder::count_line);
    EXPECT_EQ(counts.size(), 1000u);
    EXPECT_EQ(counts.count("w0"), 101u);
    EXPECT_EQ(counts.count("w999"), 100u);
    EXPECT_EQ(counts.count("none"), 0u);
  }
}

}  // namespace
}  // namespace residual::text
