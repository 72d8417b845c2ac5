#include "text/bpe.h"
#include "support/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "text/bpe_data.h"

namespace residual::text {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

LineTransform transform_of(const std::string& codes, BpeOptions options = {}) {
  return bpe_transform(std::make_shared<Bpe>(Bpe::load(bpe_file(codes), std::move(options))));
}

std::string pieces(const std::string& codes, std::string_view line, BpeOptions options = {}) {
  std::string out;
  bpe_transform(std::make_shared<Bpe>(codes, "codes", std::move(options)))(line, out);
  return out;
}

std::string words(std::string_view line, std::string_view separator = "@@") {
  std::string out;
  undo_bpe(line, separator, out);
  return out;
}

StringTable vocabulary_of(std::initializer_list<const char*> symbols) {
  StringTable table;
  for (const char* symbol : symbols) table.add(symbol);
  return table;
}

TEST(Bpe, CutsTheLinesOfSubwordNmt) {
  for (const std::string language : {"en", "de", "fr"}) {
    for (const std::string merges : {"100", "400"}) {
      const fs::path text = fs::path(test::fixtures()) / "moses" / ("tok." + language);
      EXPECT_EQ(all_lines(transform_of(merges + ".codes"), text),
                read_file(bpe_file(merges + "." + language)))
          << merges << " " << language;
    }
  }
}

TEST(Bpe, CutsOddLinesAsSubwordNmt) {
  EXPECT_EQ(all_lines(transform_of("odd.codes"), bpe_file("odd.in")),
            read_file(bpe_file("odd.out")));
}

TEST(Bpe, KnowsCodesOfVersion01) {
  EXPECT_EQ(all_lines(transform_of("odd.codes-0.1"), bpe_file("odd.in")),
            read_file(bpe_file("odd.out-0.1")));
}

TEST(Bpe, VocabularyAndGlossariesActAsInSubwordNmt) {
  const BpeOptions options{.vocabulary = read_bpe_vocabulary(bpe_file("odd.vocabulary"), 3),
                           .glossaries = {"ab", "日+", "c|1"}};
  EXPECT_EQ(all_lines(transform_of("odd.codes", options), bpe_file("odd.in")),
            read_file(bpe_file("odd.restricted")));
}

TEST(Bpe, UndoGivesTheWordsBack) {
  for (const std::string language : {"en", "de", "fr"}) {
    const fs::path text = fs::path(test::fixtures()) / "moses" / ("tok." + language);
    const auto undo = [](std::string_view line, std::string& out) { undo_bpe(line, "@@", out); };
    EXPECT_EQ(all_lines(undo, bpe_file("100." + language)), all_lines(undo, text));
  }
}

TEST(Bpe, AllPlacesOfAPairMergeBeforeALowerRankThatArisesThere) {
  // (ab c) ranks below (a b); it exists only once (a b) has merged everywhere.
  EXPECT_EQ(pieces("#version: 0.2\nab c\na b\n", "abcabcx"), "abc@@ abc@@ x");
  EXPECT_EQ(pieces("#version: 0.2\nb a\na b\n", "abab!"), "a@@ ba@@ b@@ !");
}

TEST(Bpe, OverlappingPlacesMergeFromTheLeft) {
  EXPECT_EQ(pieces("#version: 0.2\nx x\n", "xxxxx"), "xx@@ xx@@ x");
}

TEST(Bpe, OnlyTheFirstMergesAreUsedIfSoAsked) {
  const std::string codes = "#version: 0.2\na b\nab c\n";
  EXPECT_EQ(pieces(codes, "abcd", {.merges = 1}), "ab@@ c@@ d");
  EXPECT_EQ(pieces(codes, "abcd", {.merges = 0}), "a@@ b@@ c@@ d");
}

TEST(Bpe, PiecesOutsideTheVocabularyAreSplitFurther) {
  const std::string codes = "#version: 0.2\na b\nab c</w>\n";
  EXPECT_EQ(pieces(codes, "abc", {.vocabulary = vocabulary_of({"abc"})}), "abc");
  EXPECT_EQ(pieces(codes, "abc", {.vocabulary = vocabulary_of({"ab@@", "c"})}), "ab@@ c");
  EXPECT_EQ(pieces(codes, "abc", {.vocabulary = vocabulary_of({"ab", "c"})}), "a@@ b@@ c");
}

TEST(Bpe, GlossaryEntriesStayWhole) {
  const std::string codes = "#version: 0.2\na b\n";
  EXPECT_EQ(pieces(codes, "1934USABUSA USA", {.glossaries = {"USA"}}),
            "1@@ 9@@ 3@@ 4@@ USA@@ B@@ USA USA");
  EXPECT_EQ(pieces(codes, "x<tag 1>y", {.glossaries = {"<[a-z]+"}}), "x@@ <tag 1@@ >@@ y");
  EXPECT_THAT([&] { pieces(codes, "x", {.glossaries = {"(a"}}); },
              ThrowsMessage<Error>(HasSubstr("glossary entry \"(a\"")));
}

TEST(Bpe, AWordMayFillALongLine) {
  const std::string codes = "#version: 0.2\na b\nab ab\nb a\n";
  std::string line, expected;
  for (int i = 0; i < 100'000; ++i) line += "abab";
  for (int i = 0; i < 99'999; ++i) expected += "abab@@ ";
  EXPECT_EQ(pieces(codes, line), expected + "ab@@ a@@ b");
  EXPECT_EQ(words(pieces(codes, line, {.dropout = 0.5})), line);
}

TEST(Bpe, TheCacheMayOverflow) {
  const auto bpe = std::make_shared<Bpe>("#version: 0.2\n1 2\n", "codes");
  BpeTransform transform(bpe);
  for (int i = 0; i < 300'000; ++i) {
    std::string out;
    const std::string word = std::to_string(i);
    transform(word, out);
    EXPECT_EQ(words(out), word);
  }
}

TEST(BpeDropout, DropsItsShareAndDependsOnSeedAndLineOnly) {
  const std::string codes = "#version: 0.2\na b</w>\n";
  std::string line;
  for (int i = 0; i < 20'000; ++i) line += "ab ";
  const std::string one = pieces(codes, line, {.dropout = 0.3, .seed = 1});
  EXPECT_EQ(pieces(codes, line, {.dropout = 0.3, .seed = 1}), one);
  EXPECT_NE(pieces(codes, line, {.dropout = 0.3, .seed = 2}), one);
  const auto cut = static_cast<double>(std::count(one.begin(), one.end(), '@')) / 2;
  EXPECT_NEAR(cut / 20'000, 0.3, 0.013);  // four standard deviations
}

TEST(BpeDropout, AlwaysDroppingGivesCharactersAndNeverDroppingAllMerges) {
  const std::string codes = "#version: 0.2\na b\nab c</w>\n";
  EXPECT_EQ(pieces(codes, "abc", {.dropout = 1}), "a@@ b@@ c");
  EXPECT_EQ(pieces(codes, "abc", {.dropout = 1e-300}), "abc");
}

TEST(BpeDropout, EverySegmentationOccurs) {
  const auto bpe =
      std::make_shared<Bpe>("#version: 0.2\na b\nab c</w>\n", "codes", BpeOptions{.dropout = 0.5});
  std::set<std::string> seen;
  std::string out;
  for (int i = 0; i < 100; ++i) {
    out.clear();
    bpe_transform(bpe)("abc " + std::to_string(i), out);
    seen.insert(out.substr(0, out.rfind(std::to_string(i).substr(0, 1))));
  }
  EXPECT_THAT(seen, testing::IsSupersetOf({"abc ", "ab@@ c ", "a@@ b@@ c "}));
}

TEST(BpeCodes, MalformedLinesAreNamed) {
  for (const char* bad : {"a", "a b c", "a  b", "", " "}) {
    EXPECT_THAT([&] { Bpe(std::string("#version: 0.2\na b\n") + bad + "\nc d\n", "my.codes"); },
                ThrowsMessage<Error>(HasSubstr("my.codes:3: expected two symbols")))
        << bad;
  }
  EXPECT_THAT([] { Bpe("a b\nc\n", "my.codes"); }, ThrowsMessage<Error>(HasSubstr("my.codes:2:")));
  EXPECT_THAT([] { Bpe("#version: 7\na b\n", "my.codes"); },
              ThrowsMessage<Error>(HasSubstr("my.codes:1: expected \"#version: 0.1\"")));
  EXPECT_THAT([] { Bpe("#version: 0.2\na b\n\xff b\n", "my.codes"); },
              ThrowsMessage<Error>(HasSubstr("my.codes:3: not valid UTF-8")));
}

TEST(BpeCodes, OfNoBytesAreAnError) {
  EXPECT_THAT([] { Bpe("", "my.codes"); }, ThrowsMessage<Error>(HasSubstr("my.codes: is empty")));
}

TEST(BpeCodes, MayHaveNoMergesHaveDosLineEndsAndLackTheLast) {
  EXPECT_EQ(pieces("#version: 0.2\n", "ab"), "a@@ b");
  EXPECT_EQ(pieces("#version: 0.2\r\na b</w>\r\n", "ab"), "ab");
  EXPECT_EQ(pieces("#version: 0.2\na b</w>", "ab"), "ab");
}

TEST(BpeCodes, MayBeginWithAByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(pieces(mark + "#version: 0.2\na b</w>\n", "ab"), "ab");
  EXPECT_EQ(pieces(mark + "a b\n", "abc"), "ab@@ c");
}

TEST(BpeCodes, UndoingStopsAtSymbolsThatOnlyLookLikeTheEndOfAWord) {
  EXPECT_EQ(
      pieces("#version: 0.2\n< /w>\na< /w>\na b</w>\n", "ab", {.vocabulary = vocabulary_of({"x"})}),
      "a@@ b");
}

TEST(UndoBpe, FollowsFairseqsRule) {
  EXPECT_EQ(words("a@@ b c@@"), "ab c");
  EXPECT_EQ(words("a@@@ b"), "a@b");
  EXPECT_EQ(words("@@ @@ a @@b @@"), "a @@b");
  EXPECT_EQ(words("  a \t\xc2\xa0\r"), "  a");
  EXPECT_EQ(words("a￭ b@@ c", "￭"), "ab@@ c");
  EXPECT_EQ(words(""), "");
}

}  // namespace
}  // namespace residual::text
