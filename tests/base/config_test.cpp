#include "base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_of.h"
#include "support/temporary.h"

namespace residual {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Stage { raw, tokens };
constexpr auto names(Stage) { return std::array{"raw", "tokens"}; }

struct Inner {
  int64_t min_words = 1;
  double ratio = 9;
  Stage stage = Stage::tokens;
};
struct Item {
  std::string file = "none";
  bool used = false;
};
struct Options {
  std::string name = "a \"name\"\twith\\everything";
  std::vector<std::string> train;
  std::vector<int64_t> columns = {1, 2};
  Inner clean;
  std::vector<Item> items;
};

void fields(ConfigVisitor& visit, Inner& o) {
  visit("min_words", o.min_words, "fewest words", {.min = 0, .max = 1000});
  visit("ratio", o.ratio, "largest ratio", {.min = 1});
  visit.choice("stage", o.stage, "where");
}
void fields(ConfigVisitor& visit, Item& o) {
  visit("file", o.file, "its file");
  visit("used", o.used, "whether it is");
}
void fields(ConfigVisitor& visit, Options& o) {
  visit.table("clean", o.clean, "cleaning");  // before plain keys: the writer must reorder
  visit("name", o.name, "a name");
  visit("train", o.train, "files");
  visit("columns", o.columns, "columns");
  visit.tables("items", o.items, "things");
}

Options read(const std::string& toml) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "a.toml", toml);
  Options out;
  read_config(directory / "a.toml", out);
  return out;
}

Options set(std::vector<std::string> settings, Options out = {}) {
  apply_settings<Options>(settings, out);
  return out;
}

using residual::test::error_of;

std::string read_error(const std::string& toml) {
  return error_of([&] { read(toml); });
}
std::string set_error(const std::string& setting) {
  return error_of([&] { set({setting}); });
}

TEST(Config, WhatAFileDoesNotMentionKeepsItsDefault) {
  const Options o = read("train = \"one\"\n[clean]\nratio = 2\n");
  EXPECT_THAT(o.train, ElementsAre("one"));
  EXPECT_EQ(o.clean.ratio, 2.0);
  EXPECT_EQ(o.clean.min_words, 1);
  EXPECT_EQ(to_toml(read("")), to_toml(Options{}));
}

TEST(Config, ArraysOfTablesAndChoicesAreRead) {
  const Options o = read("clean.stage = 'raw'\n[[items]]\nfile = 'x'\n[[items]]\nused = true\n");
  EXPECT_EQ(o.clean.stage, Stage::raw);
  ASSERT_EQ(o.items.size(), 2u);
  EXPECT_EQ(o.items[0].file, "x");
  EXPECT_EQ(o.items[1].file, "none");
  EXPECT_TRUE(o.items[1].used);
}

TEST(Config, UnknownKeysNameFileAndLineAndTheClosestKey) {
  EXPECT_THAT(read_error("name = 'x'\n\n[clean]\nmin_word = 3\n"),
              HasSubstr("a.toml:4: unknown key \"clean.min_word\"; did you mean \"min_words\"?"));
  EXPECT_THAT(read_error("[[items]]\n[[items]]\nzzz = 1\n"),
              HasSubstr("a.toml:3: unknown key \"items.1.zzz\"; known here: file, used"));
  EXPECT_THAT(set_error("cleen.ratio=2"), HasSubstr("unknown key \"cleen\"; did you mean"));
}

TEST(Config, WrongTypesAndValuesNameFileLineAndKey) {
  EXPECT_THAT(read_error("\nclean.min_words = 'three'"),
              HasSubstr("a.toml:2: clean.min_words: expected an integer, got a string"));
  EXPECT_THAT(read_error("clean.min_words = -1"), HasSubstr("must be at least 0, is -1"));
  EXPECT_THAT(read_error("clean.min_words = 1001"), HasSubstr("must be at most 1000, is 1001"));
  EXPECT_THAT(read_error("clean.ratio = nan"), HasSubstr("must be a finite number, is nan"));
  EXPECT_THAT(read_error("clean = 3"), HasSubstr("a.toml:1: clean: expected a table, got an int"));
  EXPECT_THAT(read_error("items = [1]"), HasSubstr("expected a list of tables"));
  EXPECT_THAT(read_error("columns = [1, 'b']"), HasSubstr("columns: expected an integer"));
  EXPECT_THAT(read_error("name = 2020-01-01"), HasSubstr("expected a string, got a date"));
  EXPECT_THAT(read_error("clean.stage = 'token'"),
              HasSubstr("expected one of raw, tokens, got \"token\"; did you mean \"tokens\"?"));
}

TEST(Config, WhatIsNotTomlNamesTheLine) {
  EXPECT_THAT(read_error("name = 'x'\n= 3\n"), HasSubstr("a.toml:2: not valid TOML"));
  EXPECT_THAT(read_error("a = '\xff'"), HasSubstr("a.toml:1: not valid TOML"));
  EXPECT_THAT(read_error(std::string(5000, '[')), HasSubstr("not valid TOML"));
  EXPECT_THAT(read_error("name = 'x'\nname = 'y'\n"), HasSubstr("a.toml:2: not valid TOML"));
}

TEST(Config, SettingsOverrideAndTakeBareStrings) {
  const Options o = set(
      {"clean.ratio=2.5", "name=two words", "train=['a', 'b']", "clean.stage=raw", "columns=3"});
  EXPECT_EQ(o.clean.ratio, 2.5);
  EXPECT_EQ(o.name, "two words");
  EXPECT_THAT(o.train, ElementsAre("a", "b"));
  EXPECT_EQ(o.clean.stage, Stage::raw);
  EXPECT_THAT(o.columns, ElementsAre(3));
  EXPECT_EQ(set({"name=true"}).name, "true");
  EXPECT_EQ(set({"name=1=2"}).name, "1=2");
  EXPECT_EQ(set({"name="}).name, "");
}

TEST(Config, SettingsReachListElementsByNumber) {
  Options o;
  o.items.resize(2);
  EXPECT_EQ(set({"items.1.file=y"}, o).items[1].file, "y");
  EXPECT_THAT(error_of([&] { set({"items.2.file=y"}, o); }), HasSubstr("0 to 1, got \"2\""));
}

TEST(Config, ASettingMayRefineAListThatAnotherOneSets) {
  const Options o = set({"items=[{file='a'}, {file='b'}]", "items.1.used=true"});
  ASSERT_EQ(o.items.size(), 2u);
  EXPECT_EQ(o.items[1].file, "b");
  EXPECT_TRUE(o.items[1].used);
}

TEST(Config, TheLastOfTwoSettingsOfAKeyCounts) {
  EXPECT_EQ(set({"name=a", "clean.ratio=2", "name=b"}).name, "b");
  EXPECT_EQ(set({"clean={ratio=2, min_words=3}", "clean.ratio=4"}).clean.ratio, 4);
  EXPECT_EQ(set({"clean.ratio=4", "clean={min_words=3}"}).clean.ratio, 4);
}

TEST(Config, AFaultySettingIsNamed) {
  EXPECT_THAT(set_error("clean.ratio=x"),
              HasSubstr("--set clean.ratio=x: clean.ratio: expected a number, got \"x\""));
  EXPECT_THAT(set_error("clean.min_words=9223372036854775808"),
              HasSubstr("expected an integer, got \"9223372036854775808\""));
  EXPECT_THAT(set_error("name"), HasSubstr("--set name: expected key=value"));
  EXPECT_THAT(set_error("=3"), HasSubstr("expected key=value"));
  EXPECT_THAT(set_error("a b=3"), HasSubstr("expected key=value"));
  EXPECT_THAT(error_of([] {
                set({"clean.ratio=2", "clean.min_words=x"});
              }),
              HasSubstr("--set clean.min_words=x: clean.min_words: expected an integer"));
  EXPECT_THAT(error_of([] {
                set({"clean.ratio=2", "clean.rato=3"});
              }),
              HasSubstr("--set clean.rato=3: unknown key \"clean.rato\"; did you mean \"ratio\"?"));
}

TEST(Config, WhatIsWrittenReadsBackEqual) {
  Options o;
  o.name = "\x01\x7f \"\\ \xc3\xa4\n";
  o.train = {"a", "", "c,d"};
  o.clean = {.min_words = 7, .ratio = 0.1 + 0.2 + 1, .stage = Stage::raw};
  o.items = {{.file = "x", .used = true}, {}};
  const std::string text = to_toml(o);
  EXPECT_EQ(to_toml(read(text)), text);
  EXPECT_EQ(read(text).name, o.name);
  EXPECT_EQ(read(text).clean.ratio, o.clean.ratio);
  EXPECT_EQ(read(text).items.size(), 2u);
}

TEST(Config, TheExplanationNamesEveryKeyAndIsItselfAConfiguration) {
  const std::string text = explain_config<Options>();
  EXPECT_THAT(text, HasSubstr("# fewest words\nmin_words = 1\n"));
  EXPECT_THAT(text, HasSubstr("# where; one of raw, tokens\nstage = \"tokens\"\n"));
  EXPECT_THAT(text, HasSubstr("[[items]]\n# its file\nfile = \"none\"\n"));
  EXPECT_EQ(read(text).clean.min_words, 1);
}

// Writes files and reads the first of them.
Options read_layered(const std::vector<std::pair<std::string, std::string>>& files) {
  const test::TemporaryDirectory directory;
  for (const auto& [name, toml] : files) {
    fs::create_directories((directory / name).parent_path());
    replace_file(directory / name, toml);
  }
  Options out;
  read_layered_config(directory / files[0].first, out);
  return out;
}

TEST(LayeredConfig, AFileOverrulesTheFilesItExtends) {
  const Options o = read_layered({
      {"a.toml", "extends = \"base/b.toml\"\n[clean]\nratio = 2.0"},
      {"base/b.toml", "extends = [\"c.toml\", \"../d.toml\"]\nname = \"b\""},
      {"base/c.toml", "name = \"c\"\n[clean]\nratio = 3.0\nmin_words = 5"},
      {"d.toml", "train = \"d\"\n[clean]\nmin_words = 6"},
  });
  EXPECT_EQ(o.name, "b");
  EXPECT_EQ(o.clean.ratio, 2);
  EXPECT_EQ(o.clean.min_words, 6);
  EXPECT_THAT(o.train, ElementsAre("d"));
}

std::string refusal(const std::vector<std::pair<std::string, std::string>>& files) {
  try {
    read_layered(files);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LayeredConfig, CirclesAndMissingFilesAreErrors) {
  EXPECT_THAT(refusal({{"a.toml", "extends = \"b.toml\""}, {"b.toml", "extends = \"./a.toml\""}}),
              HasSubstr("a.toml, which extends it in turn"));
  EXPECT_THAT(refusal({{"a.toml", "extends = \"a.toml\""}}), HasSubstr("which extends it in turn"));
  EXPECT_THAT(refusal({{"a.toml", "extends = \"b.toml\""}}),
              HasSubstr("b.toml, which does not exist"));
  EXPECT_THAT(refusal({{"a.toml", "extends = 3"}}),
              HasSubstr("a.toml:1: extends: expected the name of a file, got an integer"));
  EXPECT_THAT(refusal({{"a.toml", "extends = \"b.toml\""}, {"b.toml", "\nnam = \"x\""}}),
              HasSubstr("b.toml:2: unknown key \"nam\""));
}

TEST(LayeredConfig, OnlyRecipesMayExtend) { EXPECT_THROW(read("extends = \"b.toml\""), Error); }

}  // namespace
}  // namespace residual
