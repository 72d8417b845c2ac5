#include "fetch/descriptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace residual::fetch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DescriptionParagraphs, AreTheShortDescriptionAndWhatDotsDivide) {
  EXPECT_THAT(description_paragraphs("short one\n First line\n second  line.\n .\n Next."),
              ElementsAre(ElementsAre("short one"), ElementsAre("First line second line."),
                          ElementsAre("Next.")));
  EXPECT_THAT(description_paragraphs("short\n .\n .\n a\n .\n"),
              ElementsAre(ElementsAre("short"), ElementsAre("a")));
  EXPECT_THAT(description_paragraphs(""), IsEmpty());
}

TEST(DescriptionParagraphs, ListsAreCutIntoItemsWithoutTheirMarks) {
  EXPECT_THAT(description_paragraphs(
                  "s\n It has:\n  * one thing that\n    goes on;\n  * two\n -\u00A0three"),
              ElementsAre(ElementsAre("s"),
                          ElementsAre("It has:", "one thing that goes on", "two", "three")));
  EXPECT_THAT(description_paragraphs("s\n *emphasis* is no list"),
              ElementsAre(ElementsAre("s"), ElementsAre("*emphasis* is no list")));
}

TEST(DescriptionParagraphs, IndentedLinesStandAlone) {
  EXPECT_THAT(description_paragraphs("s\n Commands:\n   first line\n   second line\n and text"),
              ElementsAre(ElementsAre("s"),
                          ElementsAre("Commands:", "first line", "second line", "and text")));
}

TEST(ReadDescriptions, TakesStanzasWhateverTheOrderOfTheirFields) {
  Descriptions found;
  read_descriptions(
      "Package: a\nDescription-md5: 1\nDescription-de: kurz\n lang\n\n"
      "Description-de: b\nPackage: x\nDescription-md5:  2\n\n\n"
      "Package: without\n\nDescription-md5: 3\nDescription-de: letzte ohne Ende",
      found);
  EXPECT_THAT(found, ElementsAre(std::pair{"1", "kurz\n lang"}, std::pair{"2", "b"},
                                 std::pair{"3", "letzte ohne Ende"}));
}

TEST(ReadDescriptions, TheOrderOfTwoTextsForOneDescriptionDoesNotMatter) {
  const std::string a = "Description-md5: 1\nDescription-de: a\n\n";
  const std::string b = "Description-md5: 1\nDescription-de: b\n\n";
  Descriptions ab, ba;
  read_descriptions(a + b, ab);
  read_descriptions(b + a, ba);
  EXPECT_EQ(ab, ba);
}

TEST(ReadDescriptions, AnyBytesAreNoError) {
  Descriptions found;
  read_descriptions(std::string_view("\0\n:\n \n\n Description-\nDescription-md5\n\r\n", 40),
                    found);
  EXPECT_THAT(found, IsEmpty());
}

TEST(JoinDescriptions, PairsParagraphsOfTheSameDescription) {
  const Descriptions english = {{"1", "a tool for small things\n It does a few small things well."},
                                {"2", "only in English, no other language"}};
  const Descriptions german = {
      {"1", "ein Werkzeug für Kleines\n Es macht wenige kleine Dinge gut."},
      {"3", "nur in deutscher Sprache vorhanden"}};
  EXPECT_THAT(join_descriptions(english, german),
              ElementsAre(SentencePair{"a tool for small things", "ein Werkzeug für Kleines"},
                          SentencePair{"It does a few small things well.",
                                       "Es macht wenige kleine Dinge gut."}));
}

TEST(JoinDescriptions, LeavesOutWhatDoesNotLineUp) {
  const std::string list = "\n It has these:\n  * the very first thing\n  * the very second thing";
  const Descriptions english = {{"1", "a tool for small things\n One.\n .\n Two."},
                                {"2", "another tool for small things" + list}};
  const Descriptions german = {
      {"1", "ein Werkzeug für kleine Dinge\n Eins und Zwei."},
      {"2", "noch ein Werkzeug für Kleines\n Es hat diese:\n  * die allererste Sache"}};
  EXPECT_THAT(
      join_descriptions(english, german),
      ElementsAre(SentencePair{"another tool for small things", "noch ein Werkzeug für Kleines"}));
}

}  // namespace
}  // namespace residual::fetch
