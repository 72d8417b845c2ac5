#include "fetch/gettext.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_of.h"

namespace residual::fetch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Message> parsed(std::string_view text) {
  std::vector<Message> messages;
  parse_catalogue(text, "x.po", [&](const Message& message) { messages.push_back(message); });
  return messages;
}

std::string error_of(std::string_view text) {
  return residual::test::error_of([&] { parsed(text); });
}

std::vector<SentencePair> pairs_of(const std::string& id, const std::string& string) {
  return message_pairs({.id = id, .strings = {string}});
}

TEST(ParseCatalogue, JoinsStringsAndUndoesEscapes) {
  const auto messages = parsed(
      "# comment\n#: file.c:1\nmsgctxt \"menu\"\nmsgid \"\"\n\"one "
      "\\\"two\\\"\\n\"\n\"three\\\\\"\n"
      "msgstr \"eins\"\r\n\n");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].id, "one \"two\"\nthree\\");
  EXPECT_THAT(messages[0].strings, ElementsAre("eins"));
}

TEST(ParseCatalogue, MessagesNeedNoBlankLineBetweenThem) {
  const auto messages = parsed(
      "msgid \"a\"\nmsgstr \"b\"\nmsgctxt \"x\"\nmsgid \"c\"\nmsgstr \"d\"\n#, c-format, "
      "fuzzy\nmsgid "
      "\"e\"\nmsgstr \"f\"\nmsgid \"g\"\nmsgstr \"h\"");
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[1].id, "c");
  EXPECT_FALSE(messages[1].is_fuzzy);
  EXPECT_TRUE(messages[2].is_fuzzy);
  EXPECT_FALSE(messages[3].is_fuzzy);
}

TEST(ParseCatalogue, PluralFormsComeInOrderAndObsoleteMessagesNotAtAll) {
  const auto messages = parsed(
      "msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"%d Datei\"\nmsgstr[1] \"%d "
      "Dateien\"\n\n#~ msgid \"old\"\n#~ msgstr \"alt\"\n");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].plural, "%d files");
  EXPECT_THAT(messages[0].strings, ElementsAre("%d Datei", "%d Dateien"));
}

TEST(ParseCatalogue, AMalformedFileIsAnErrorWithItsLine) {
  EXPECT_THAT(error_of("msgid \"a\"\nmsgstr \"b"), HasSubstr("x.po:2: "));
  EXPECT_THAT(error_of("\n\"stray\""), HasSubstr("x.po:2: "));
  EXPECT_THAT(error_of("<html>"), HasSubstr("x.po:1: "));
  EXPECT_THAT(error_of("msgid"), HasSubstr("x.po:1: "));
  EXPECT_THAT(error_of("msgid \""), HasSubstr("x.po:1: "));
  EXPECT_EQ(error_of(""), "");
  EXPECT_EQ(error_of("msgid \"a\\\""), "");
}

TEST(MessagePairs, FuzzyAndUntranslatedMessagesGiveNone) {
  EXPECT_THAT(pairs_of("one two three four", ""), IsEmpty());
  EXPECT_THAT(
      message_pairs(
          {.id = "one two three four", .strings = {"eins zwei drei vier"}, .is_fuzzy = true}),
      IsEmpty());
  EXPECT_THAT(pairs_of("", "Project-Id-Version: a b c d"), IsEmpty());
}

TEST(MessagePairs, PluralsPairWithTheLastForm) {
  EXPECT_THAT(
      message_pairs({.id = "there is %d file left",
                     .plural = "there are %d files left",
                     .strings = {"zbývá nám %d jediný soubor", "b", "zbývá jich %d souborů dnes"}}),
      ElementsAre(SentencePair{"there is %d file left", "zbývá nám %d jediný soubor"},
                  SentencePair{"there are %d files left", "zbývá jich %d souborů dnes"}));
}

TEST(MessagePairs, TagsFontMarksAndEntitiesAreTakenOut) {
  EXPECT_THAT(pairs_of("Click <emph>Insert &amp; Close</emph> to go on",
                       "Mit <emph>Einfügen &amp; Ende</emph> geht es weiter"),
              ElementsAre(SentencePair{"Click Insert & Close to go on",
                                       "Mit Einfügen & Ende geht es weiter"}));
  EXPECT_THAT(pairs_of("B<ls> lists I<files B<and> folders> if E<lt>0",
                       "B<ls> zeigt I<Dateien B<und> Ordner> falls E<lt>0"),
              ElementsAre(SentencePair{"ls lists files and folders if <0",
                                       "ls zeigt Dateien und Ordner falls <0"}));
  EXPECT_THAT(pairs_of("the option B<\\\\-\\\\-all> shows", "die Option B<\\\\-\\\\-all> zeigt"),
              IsEmpty());
  EXPECT_THAT(
      pairs_of("the option B<\\-\\-all> shows everything", "die Option B<\\-\\-all> zeigt alles"),
      ElementsAre(
          SentencePair{"the option --all shows everything", "die Option --all zeigt alles"}));
}

TEST(MessagePairs, AcceleratorsGoAndNamesStay) {
  EXPECT_THAT(pairs_of("Save _all open files", "_Alle offenen Dateien speichern"),
              ElementsAre(SentencePair{"Save all open files", "Alle offenen Dateien speichern"}));
  EXPECT_THAT(pairs_of("Save ~all open files", "Alle offenen Dateien speichern"),
              ElementsAre(SentencePair{"Save all open files", "Alle offenen Dateien speichern"}));
  EXPECT_THAT(
      pairs_of("the value max_size is wrong", "der Wert max_size ist falsch"),
      ElementsAre(SentencePair{"the value max_size is wrong", "der Wert max_size ist falsch"}));
  EXPECT_THAT(
      pairs_of("&Save all the open files now", "開いているファイルをすべて保存(&S)"),
      ElementsAre(SentencePair{"Save all the open files now", "開いているファイルをすべて保存"}));
}

TEST(MessagePairs, PlaceholdersMustAgree) {
  EXPECT_THAT(pairs_of("cannot open %s for %1$d", "kann %2$d nicht mit %s öffnen"),
              testing::SizeIs(1));
  EXPECT_THAT(pairs_of("cannot open file %s now", "kann Datei nicht öffnen"), IsEmpty());
  EXPECT_THAT(pairs_of("hello dear {name} and all", "hallo liebe {nome} und alle"), IsEmpty());
  EXPECT_THAT(pairs_of("100% of all the files", "100 % von allen Dateien"), testing::SizeIs(1));
}

TEST(MessagePairs, DeepNestingAndLoneMarksAreNoError) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "B<";
  EXPECT_THAT(pairs_of(deep, deep), IsEmpty());
  EXPECT_THAT(pairs_of("_ & ~ ( % $ {", "(_ % { $"), IsEmpty());
  EXPECT_THAT(pairs_of("a _", "(_a"), IsEmpty());
}

TEST(MessagePairs, ManyBracesTakeNoMoreThanTheirText) {
  const std::string open(1'000'000, '{');
  EXPECT_THAT(pairs_of("the files of " + open, "die Dateien von " + open), IsEmpty());
  EXPECT_THAT(pairs_of("the files of " + open + "}", "die Dateien von " + open + "}"), IsEmpty());
}

TEST(IsCatalogueOf, GoesByThePath) {
  EXPECT_TRUE(is_catalogue_of("gimp-2.10/po/de.po", "de"));
  EXPECT_TRUE(is_catalogue_of("translations/source/pt-BR/sw/messages.po", "pt_BR"));
  EXPECT_TRUE(is_catalogue_of("de.po", "de"));
  EXPECT_FALSE(is_catalogue_of("po/de.pot", "de"));
  EXPECT_FALSE(is_catalogue_of("po/de_AT.po", "de"));
  EXPECT_FALSE(is_catalogue_of("po/node.po", "de"));
}

}  // namespace
}  // namespace residual::fetch
