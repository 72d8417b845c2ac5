#include "text/normalizer.h"

#include <gtest/gtest.h>

#include "text/abbreviations.h"
#include "text/moses_data.h"
#include "text/tokenizer.h"

namespace residual::text {
namespace {

std::string normalized(const std::string& language, const std::string& line) {
  return transformed(PunctuationNormalizer(language), line);
}

TEST(PunctuationNormalizer, EqualsMosesOnRunningText) {
  for (const std::string language : {"en", "de", "fr"}) {
    expect_same_lines(PunctuationNormalizer(language), "in." + language, "normpunct." + language);
    expect_same_lines(remove_non_printing, "in." + language, "nonprint." + language);
    expect_same_lines(lowercase, "in." + language, "lower." + language);
  }
}

TEST(PunctuationNormalizer, EqualsMosesOnOddLinesInEveryLanguage) {
  for (const auto& language : Abbreviations::languages()) {
    expect_same_lines(PunctuationNormalizer(language), "odd.in." + language,
                      "odd.normpunct." + language);
  }
}

TEST(PunctuationNormalizer, PreparesTextAsTheWmtRecipesDo) {
  for (const std::string language : {"en", "de", "fr"}) {
    const PunctuationNormalizer normalize(language);
    const Tokenizer tokenize({.language = language, .aggressive = true});
    const auto prepare = [&](std::string_view line, std::string& out) {
      std::string normal, printing;
      normalize(line, normal);
      remove_non_printing(normal, printing);
      tokenize(printing, out);
    };
    expect_same_lines(prepare, "in." + language, "wmt." + language);
  }
}

TEST(PunctuationNormalizer, StopsAndQuotesFollowTheLanguage) {
  EXPECT_EQ(normalized("en", "\"Yes\", he said."), "\"Yes,\" he said.");
  EXPECT_EQ(normalized("de", "\"Ja,\" sagte er \"so.\" <b> x.\"<"),
            "\"Ja\", sagte er \"so\". <b> x.\"<");
  EXPECT_EQ(normalized("cs", "\"Ano,\" \"ne\","), "\"Ano,\" \"ne\",");
  EXPECT_EQ(normalized("de", ".\".\"x"), "\"..\"x");
}

TEST(PunctuationNormalizer, ANoBreakSpaceBetweenDigitsBecomesASeparatorOncePerDigit) {
  EXPECT_EQ(normalized("en", "1\u00A0000 2\u00A03\u00A04"), "1.000 2.3\u00A04");
  EXPECT_EQ(normalized("fr", "1\u00A0000"), "1,000");
  EXPECT_EQ(normalized("de_AT", "1\u00A0000"), "1,000");
}

TEST(PunctuationNormalizer, CurlyApostrophesServeOneWordOnly) {
  EXPECT_EQ(normalized("en", "a’b’c don’t"), "a'b\"c don't");
}

TEST(RemoveNonPrinting, PutsASpaceForEachCharacter) {
  EXPECT_EQ(transformed(remove_non_printing, "a\t\u200B\u00ADb\uFEFF é"), "a   b  é");
}

TEST(Lowercase, TakesEachCharacterByItself) {
  EXPECT_EQ(transformed(lowercase, "AZÀΣΑΣ\u0130ẞ𐐀"), "azàσασi\u0307ß𐐨");
}

}  // namespace
}  // namespace residual::text
