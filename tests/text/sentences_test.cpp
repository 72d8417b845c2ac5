#include "text/sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace residual::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> split(const std::string& text, const std::string& language = "en") {
  SentenceSplitter splitter(language);
  std::vector<std::string> sentences;
  for (const auto sentence : splitter(text)) sentences.emplace_back(sentence);
  return sentences;
}

TEST(Sentences, EndAtTerminatorsBeforeANewSentence) {
  EXPECT_THAT(split("It rains. Does it? Yes! It pours."),
              ElementsAre("It rains.", "Does it?", "Yes!", "It pours."));
  EXPECT_THAT(split("Pi is 3.14 in the U.S. and abroad."), SizeIs(1));
}

TEST(Sentences, HaveNoWhiteSpaceAroundThem) {
  EXPECT_THAT(split(" \t One.\u00A0\u3000 Two. \n Three.  "),
              ElementsAre("One.", "Two.", "Three."));
  EXPECT_THAT(split(" \t "), IsEmpty());
  EXPECT_THAT(split(""), IsEmpty());
}

TEST(Sentences, DoNotEndAfterAbbreviationsOfTheLanguage) {
  EXPECT_THAT(split("Mr. Smith met Dr. Who. They left."),
              ElementsAre("Mr. Smith met Dr. Who.", "They left."));
  EXPECT_THAT(split("See No. 5 there. No. He said so."),
              ElementsAre("See No. 5 there.", "No.", "He said so."));
  EXPECT_THAT(split("J. R. R. Tolkien wrote. He did."),
              ElementsAre("J. R. R. Tolkien wrote.", "He did."));
  EXPECT_THAT(split("Am 3. Oktober kam er, z. B. Hans. Gut.", "de"),
              ElementsAre("Am 3. Oktober kam er, z. B. Hans.", "Gut."));
}

TEST(Sentences, EndAfterWhatEndsAList) {
  EXPECT_THAT(split("Ducks, geese, etc. They swim."),
              ElementsAre("Ducks, geese, etc.", "They swim."));
  EXPECT_THAT(split("Enten usw. schwimmen. Gut.", "de"), SizeIs(2));
  EXPECT_THAT(split("Anatre, oche ecc. Nuotano.", "it"), SizeIs(2));
}

TEST(Sentences, DoNotEndInsideNames) {
  EXPECT_THAT(split("Programs of CLI (.NET) have menus."), SizeIs(1));
  EXPECT_THAT(split("Crates without #![no_std] do not fit."), SizeIs(1));
  EXPECT_THAT(split("Protocolli (es. HTTP) e ventole (max. 10).", "it"), SizeIs(1));
  EXPECT_THAT(split("Really?Yes!No"), SizeIs(3));
}

TEST(Sentences, KeepTheNumberOfAnItem) {
  EXPECT_THAT(split("1. Open the box. 2. Close it."),
              ElementsAre("1. Open the box.", "2. Close it."));
}

TEST(Sentences, ContinueAfterAQuotationInLowerCase) {
  EXPECT_THAT(split("\"Stop!\" she said. \"Why?\" He left."),
              ElementsAre("\"Stop!\" she said.", "\"Why?\"", "He left."));
}

TEST(Sentences, NeedNoSpaceInScriptsWithoutSpaces) {
  EXPECT_THAT(split("你好。再见！", "zh"), ElementsAre("你好。", "再见！"));
}

// The Greek question mark is a semicolon; a language that ICU does not know has Unicode's rules.
TEST(Sentences, FollowTheRulesOfTheLanguage) {
  EXPECT_THAT(split("Τι κάνεις; Καλά.", "el"), SizeIs(2));
  EXPECT_THAT(split("Was; Gut.", "de"), SizeIs(1));
  EXPECT_THAT(split("Foo bar. Baz.", "xx_unknown"), SizeIs(2));
}

TEST(Sentences, TakeTimeThatGrowsWithTheText) {
  std::string text(1 << 20, ' ');
  for (int i = 0; i < 200'000; ++i) text += "A. ";  // none ends
  EXPECT_THAT(split(text), SizeIs(1));
}

}  // namespace
}  // namespace residual::text
