#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <thread>

#include "text/moses_data.h"

namespace residual::text {
namespace {

std::string tokenized(const std::string& line, const TokenizerOptions& options = {}) {
  return transformed(Tokenizer(options), line);
}
std::string tokenized_in(const std::string& language, const std::string& line) {
  return tokenized(line, {.language = language, .escape = false});
}

TEST(Tokenizer, EqualsMosesOnRunningText) {
  for (const std::string language : {"en", "de", "fr"}) {
    const auto expect = [&](const TokenizerOptions& options, const std::string& kind) {
      expect_same_lines(Tokenizer(options), "in." + language, kind + "." + language);
    };
    expect({.language = language}, "tok");
    expect({.language = language, .aggressive = true}, "tok-aggressive");
    expect({.language = language, .escape = false}, "tok-no-escape");
  }
}

TEST(Tokenizer, EqualsMosesOnOddLinesInEveryLanguage) {
  for (const auto& language : Abbreviations::languages()) {
    expect_same_lines(Tokenizer({.language = language}), "odd.in." + language,
                      "odd.tok." + language);
    expect_same_lines(Tokenizer({.language = language, .aggressive = true, .escape = false}),
                      "odd.in." + language, "odd.tok-aggressive-no-escape." + language);
  }
}

TEST(Tokenizer, KeepsAFinalStopOnlyAtAbbreviationsAndBeforeLowerCase) {
  EXPECT_EQ(tokenized("Mr. Smith left. Why?"), "Mr. Smith left . Why ?");
  EXPECT_EQ(tokenized("left. he"), "left. he");
  EXPECT_EQ(tokenized("No. 5 or No. Yes"), "No. 5 or No . Yes");
  EXPECT_EQ(tokenized("the U.S.A. Army"), "the U.S.A. Army");
  EXPECT_EQ(tokenized("to Mr."), "to Mr .");
}

TEST(Tokenizer, CommasStayOnlyBetweenNumbers) {
  EXPECT_EQ(tokenized("1,000,000, or a,b"), "1,000,000 , or a , b");
  EXPECT_EQ(tokenized(",5"), ",5");
  EXPECT_EQ(tokenized("a,5"), "a , 5");
  EXPECT_EQ(tokenized("a,,5 5,,5 5,,,5"), "a , ,5 5 , , 5 5 , , ,5");
  EXPECT_EQ(tokenized("5,½"), "5 , ½");
}

TEST(Tokenizer, ApostrophesFollowTheLanguage) {
  EXPECT_EQ(tokenized_in("en", "don't the 1990's 'tis a'b'c x''y"),
            "don 't the 1990 's ' tis a 'b'c x ' ' y");
  EXPECT_EQ(tokenized_in("fr", "l'eau d''or"), "l' eau d ' ' or");
  EXPECT_EQ(tokenized_in("de", "geht's"), "geht ' s");
  EXPECT_EQ(tokenized_in("so", "lo'da"), "lo'da");
}

TEST(Tokenizer, AStopAndApostropheThatEndALineKeepTheScriptsSpaces) {
  EXPECT_EQ(tokenized_in("en", "He said 'go.'"), "He said ' go . ' ");
  EXPECT_EQ(tokenized_in("en", "x .'"), "x  . ' ");
}

TEST(Tokenizer, JoinersOfSomeLanguages) {
  EXPECT_EQ(tokenized_in("fi", "EU:n a:B"), "EU:n a : B");
  EXPECT_EQ(tokenized_in("en", "EU:n"), "EU : n");
  EXPECT_EQ(tokenized_in("ca", "il·lusió"), "il·lusió");
}

TEST(Tokenizer, RunsOfDotsAreTokens) {
  EXPECT_EQ(tokenized("well...no.. yes...."), "well ... no .. yes ....");
}

TEST(Tokenizer, AggressiveSplitsHyphensBetweenLettersAndDigits) {
  EXPECT_EQ(tokenized("a-b-c -d 1-x e--f", {.aggressive = true}), "a @-@ b @-@ c -d 1 @-@ x e--f");
}

TEST(Tokenizer, EscapesWhatMosesReserves) {
  EXPECT_EQ(tokenized("&|<>'\"[]"), "&amp; &#124; &lt; &gt; &apos; &quot; &#91; &#93;");
}

TEST(Tokenizer, WhiteSpaceAloneStaysAndControlsVanish) {
  EXPECT_EQ(tokenized(""), "");
  EXPECT_EQ(tokenized(" \u00A0\t"), " \u00A0\t");
  EXPECT_EQ(tokenized(std::string("a\0b \x01 c\r", 8)), "ab c");
  EXPECT_EQ(tokenized("\x01"), "");
}

TEST(Tokenizer, ARegionGoesByItsLanguage) {
  EXPECT_EQ(tokenized_in("pt_BR", "a Sra. Costa"), "a Sra. Costa");
  EXPECT_EQ(tokenized_in("fr_CA", "l'eau"), "l' eau");
  EXPECT_EQ(tokenized_in("en@quot", "don't"), "don 't");
}

TEST(Tokenizer, ALanguageWithoutAbbreviationsUsesTheEnglishOnes) {
  EXPECT_EQ(tokenized_in("xx", "Mr. X's."), "Mr. X ' s .");
}

TEST(Tokenizer, MayBeSharedByThreads) {
  const Tokenizer tokenizer({});
  std::string expected;
  tokenizer("It's 5,000 miles. Go...", expected);
  std::vector<std::thread> threads;
  std::array<int, 4> wrong{};
  for (auto& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        count += transformed(std::cref(tokenizer), "It's 5,000 miles. Go...") != expected;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

TEST(Tokenizer, LinesOfTenMegabytesOfOneCharacter) {
  for (const char c : {'a', '\'', '.', ',', '-', '(', ' '}) {
    const std::string line(10'000'000, c);
    EXPECT_GE(tokenized(line).size(), line.size()) << c;
  }
}

}  // namespace
}  // namespace residual::text
