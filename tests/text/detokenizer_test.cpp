#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include "text/abbreviations.h"
#include "text/moses_data.h"

namespace residual::text {
namespace {

std::string joined(const std::string& language, const std::string& line) {
  return transformed(Detokenizer(language), line);
}

TEST(Detokenizer, EqualsMosesOnTokenisedText) {
  for (const std::string language : {"en", "de", "fr"}) {
    expect_same_lines(Detokenizer(language), "tok." + language, "detok." + language);
  }
}

TEST(Detokenizer, EqualsMosesOnOddLinesInEveryLanguage) {
  for (const auto& language : Abbreviations::languages()) {
    expect_same_lines(Detokenizer(language), "odd.in." + language, "odd.detok." + language);
  }
}

TEST(Detokenizer, AttachesPunctuationBracketsAndQuotes) {
  EXPECT_EQ(joined("en", "He said : \" ( $ 5 ) , yes . \""), "He said: \"($5), yes.\"");
  EXPECT_EQ(joined("en", "the Jones ' house"), "the Jones' house");
  EXPECT_EQ(joined("de", "„ Ja “"), "„Ja“");
}

TEST(Detokenizer, ContractionsFollowTheLanguage) {
  EXPECT_EQ(joined("en", "do n &apos;t"), "do n't");
  EXPECT_EQ(joined("fr", "l&apos; eau ?"), "l'eau ?");
  EXPECT_EQ(joined("fr_CA", "l&apos; eau ?"), "l'eau ?");
  EXPECT_EQ(joined("it", "l&apos; acqua ?"), "l'acqua?");
  EXPECT_EQ(joined("cs", "3 , 14 e - mail je"), "3,14 e-mail je");
  EXPECT_EQ(joined("fi", "EU: Ssa"), "EU:ssa");
}

TEST(Detokenizer, UndoesHyphensAndEntitiesOnce) {
  EXPECT_EQ(joined("en", "high @-@ speed &amp;lt; &#91;x&#93; a&b"), "high-speed &lt; [x] a&b");
}

TEST(Detokenizer, JoinsChineseAndJapaneseButNotKoreanWords) {
  EXPECT_EQ(joined("zh", "你好 世界 ok"), "你好世界 ok");
  EXPECT_EQ(joined("ko", "안녕 세계"), "안녕 세계");
}

TEST(Detokenizer, TagsAndWhiteSpaceStay) {
  EXPECT_EQ(joined("en", "<seg id=\"1\" >"), "<seg id=\"1\" >");
  EXPECT_EQ(joined("en", " \t "), " \t ");
  EXPECT_EQ(joined("en", ""), "");
}

}  // namespace
}  // namespace residual::text
