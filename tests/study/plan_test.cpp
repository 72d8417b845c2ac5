#include "study/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "study/plans.h"
#include "support/paths.h"

namespace residual::study {
namespace {

using test::kTwoSchemes;
using test::TinyPlan;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path kRecipes = fs::path(test::source_tree()) / "recipes";

std::vector<std::string> names_of(const std::vector<Cell>& cells) {
  std::vector<std::string> names;
  for (const auto& cell : cells) names.push_back(cell.name);
  return names;
}

const Cell& cell_named(const std::vector<Cell>& cells, const std::string& name) {
  const auto found = std::ranges::find(cells, name, &Cell::name);
  if (found == cells.end()) throw Error("no cell " + name);
  return *found;
}

TEST(Plan, IsAGridOfCellsShallowOnesFirst) {
  const TinyPlan tiny;
  const auto cells =
      expand(tiny.load("depths = [1, 2]\nseeds = [1, 7]\n",
                       std::string(kTwoSchemes) + "[[schedules]]\nname = \"warmup\"\n"));
  EXPECT_THAT(names_of(cells), ElementsAre("post-ln-e1d1-warmup-s1", "resi-dual-e1d1-warmup-s1",
                                           "post-ln-e1d1-warmup-s7", "resi-dual-e1d1-warmup-s7",
                                           "post-ln-e2d2-warmup-s1", "resi-dual-e2d2-warmup-s1",
                                           "post-ln-e2d2-warmup-s7", "resi-dual-e2d2-warmup-s7"));
  EXPECT_EQ(cells[5].config.model.residual.name, "resi-dual");
  EXPECT_EQ(cells[5].config.model.encoder_layers, 2);
  EXPECT_EQ(cells[5].config.model.decoder_layers, 2);
  EXPECT_EQ(cells[3].config.train.seed, 7);
  EXPECT_EQ(cells[3].config.batch.seed, 7);
}

TEST(Plan, SchemesOverruleItAndSchedulesOverruleSchemes) {
  const TinyPlan tiny;
  const auto cells = expand(tiny.load(
      "depths = 1\nset = [\"schedule.peak=1e-3\", \"schedule.warmup=5\", \"batch.seed=3\"]\n",
      "[[schemes]]\nname = \"pre-ln\"\nset = [\"schedule.peak=2e-3\", \"schedule.warmup=6\"]\n"
      "[[schedules]]\nname = \"late\"\nset = \"schedule.warmup=7\"\n"));
  EXPECT_EQ(cells[0].config.batch.seed, 3);
  EXPECT_EQ(cells[0].config.schedule.peak, 2e-3);
  EXPECT_EQ(cells[0].config.schedule.warmup, 7);
}

TEST(Plan, ASchemeMayKeepToSomeSchedulesAndHaveAVariant) {
  const TinyPlan tiny;
  const auto cells = expand(
      tiny.load("depths = 1\n",
                "[[schemes]]\nname = \"pre-ln\"\n[[schemes]]\nname = \"dlcl\"\nvariant = \"pre\"\n"
                "schedules = \"a\"\n[[schedules]]\nname = \"a\"\n[[schedules]]\nname = \"b\"\n"));
  EXPECT_THAT(names_of(cells),
              ElementsAre("pre-ln-e1d1-a-s1", "dlcl-pre-e1d1-a-s1", "pre-ln-e1d1-b-s1"));
  EXPECT_EQ(cells[1].config.model.residual.variant, "pre");
}

TEST(Plan, TheCommandAmountsToTheConfiguration) {
  const TinyPlan tiny;
  const auto cell = expand(tiny.load("depths = 2\n", kTwoSchemes)).at(1);
  run::TrainConfig config;
  std::vector<std::string> settings;
  for (size_t i = 0; i < cell.arguments.size(); ++i) {
    if (cell.arguments[i] == "--set") settings.push_back(cell.arguments[i + 1]);
    if (cell.arguments[i] == "--data") {
      EXPECT_EQ(cell.arguments[i + 1], cell.config.data.prepared);
    }
  }
  EXPECT_EQ(cell.arguments[0], "train");
  read_layered_config(cell.arguments[1], config);
  apply_settings<run::TrainConfig>(settings, config);
  config.data.prepared = cell.config.data.prepared;
  EXPECT_EQ(to_toml(config), to_toml(cell.config));
}

// What a plan with this mistake is told.
std::string complaint(const std::string& head, const std::string& tables) {
  static const TinyPlan tiny;
  try {
    expand(tiny.load(head, tables));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Plan, MistakesAreNamed) {
  EXPECT_THAT(complaint("depths = 1\n", "[[schemes]]\nname = \"resi-duel\"\n"),
              HasSubstr("resi-dual"));
  EXPECT_THAT(complaint("depths = 1\n", ""), HasSubstr("has no [[schemes]]"));
  EXPECT_THAT(complaint("", kTwoSchemes), HasSubstr("depths: is empty"));
  EXPECT_THAT(complaint("depths = 0\n", kTwoSchemes), HasSubstr("got 0"));
  EXPECT_THAT(complaint("depths = 1\nbaseline = \"pre-ln\"\n", kTwoSchemes),
              HasSubstr("pre-ln is not one of the schemes"));
  EXPECT_THAT(complaint("depths = 1\ntables = 9\n", kTwoSchemes),
              HasSubstr("2, 3, 4, 5, 6, 7, 8; got 9"));
  EXPECT_THAT(complaint("depth = 1\n", kTwoSchemes), HasSubstr("depths"));
  EXPECT_THAT(complaint("depths = [1, 1]\n", kTwoSchemes), HasSubstr("two cells"));
  EXPECT_THAT(complaint("depths = 1\n",
                        "[[schemes]]\nname = \"pre-ln\"\n"
                        "recipes = [\"a\", \"b\"]\n"),
              HasSubstr("2 recipes for 1 depths"));
  EXPECT_THAT(
      complaint("depths = 1\n", std::string(kTwoSchemes) + "[[schedules]]\nname = \"a/b\"\n"),
      HasSubstr("letters, digits"));
  EXPECT_THAT(complaint("depths = 1\n", "[[schemes]]\nname = \"pre-ln\"\nschedules = \"x\"\n"),
              HasSubstr("not one of [[schedules]]"));
  EXPECT_THAT(complaint("depths = 1\n", std::string(kTwoSchemes) +
                                            "[[evaluate.tests]]\nname = \"dev\"\nsource = \"a\"\n"
                                            "reference = \"b\"\n"),
              HasSubstr("dev appears twice"));
  EXPECT_THAT(complaint("depths = 1\n", std::string(kTwoSchemes) +
                                            "[[evaluate.tests]]\nname = \"x\"\nsource = \"a\"\n"
                                            "reference = \"b\"\nlength_penalty = 101\n"),
              HasSubstr("evaluate.tests.length_penalty: expected -100 to 100, got 101"));
  EXPECT_THAT(complaint("depths = 1\nset = [\"validate.every_epochs=0\"]\n", kTwoSchemes),
              HasSubstr("never validates"));
  EXPECT_THAT(complaint("depths = 1\nevaluate.model = \"average\"\n", kTwoSchemes),
              HasSubstr("the mean of 10 epochs is to be scored, but checkpoint.keep_epochs is"));
  EXPECT_THAT(complaint("depths = 1\n", std::string(kTwoSchemes) + "set = \"data.prepared=x\"\n"),
              HasSubstr("a study compares models of one corpus"));
  EXPECT_THAT(complaint("depths = 1\nset = \"schedule.peek=1\"\n", kTwoSchemes),
              HasSubstr("did you mean \"peak\""));
}

TEST(Plan, KeysCanBeOverruled) {
  const TinyPlan tiny;
  const fs::path file = tiny.write("depths = 1\n", kTwoSchemes);
  const auto plan = load_plan(file, [](Plan& p) { p.seeds = {3, 4}; });
  EXPECT_THAT(plan.seeds, ElementsAre(3, 4));
  EXPECT_THAT([&] { load_plan(file, [](Plan& p) { p.seeds.clear(); }); },
              testing::ThrowsMessage<Error>(HasSubstr("seeds: is empty")));
}

TEST(Plan, SettingsOfTheCommandLineFollowItsOwn) {
  const TinyPlan tiny;
  const fs::path file = tiny.write("depths = 1\nset = [\"schedule.peak=1e-3\"]\n", kTwoSchemes);
  const auto plan = load_plan(file, [](Plan& p) {
    overrule(p, {"set=[\"train.device=cuda\"]", "seeds=[3, 4]", "set=schedule.peak=2e-3"});
  });
  EXPECT_THAT(plan.seeds, ElementsAre(3, 4));
  EXPECT_THAT(plan.settings,
              ElementsAre("schedule.peak=1e-3", "train.device=cuda", "schedule.peak=2e-3"));
}

TEST(Plan, TestsHaveTheLengthPenaltyOfTheEvaluationUnlessTheyHaveTheirOwn) {
  const TinyPlan tiny;  // whose own test, dev, comes last
  const auto tests = tiny.load("depths = 1\nevaluate.length_penalty = 0.6\n",
                               std::string(kTwoSchemes) +
                                   "[[evaluate.tests]]\nname = \"own\"\nsource = \"a\"\n"
                                   "reference = \"b\"\nlength_penalty = 1.4\n")
                         .evaluate.tests;
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0].length_penalty, 1.4);
  EXPECT_EQ(tests[1].length_penalty, 0.6);
  EXPECT_EQ(tiny.load("depths = 1\n", kTwoSchemes).evaluate.tests.at(0).length_penalty, 1);
}

TEST(Plan, AllThatAreShippedCanBeExpanded) {
  int plans = 0;
  for (const auto& entry : fs::directory_iterator(kRecipes / "studies")) {
    if (!entry.is_regular_file()) continue;
    SCOPED_TRACE(entry.path().string());
    ++plans;
    const Plan plan = load_plan(entry.path());
    EXPECT_FALSE(plan.description.empty());
    EXPECT_FALSE(expand(plan).empty());
  }
  EXPECT_GE(plans, 6);
}

TEST(Plan, NamesALanguageModelByItsOnlyStack) {
  const auto cells = expand(load_plan(kRecipes / "studies/small-language.toml"));
  const Cell& cell = cell_named(cells, "resi-dual-d12-2e-3-s1");
  EXPECT_EQ(cell.config.model.kind, model::Kind::language);
  EXPECT_EQ(cell.config.model.encoder_layers, 0);
  EXPECT_EQ(cell.config.model.decoder_layers, 12);
}

// A cell of the paper's plans is what the recipe of its row says.
void expect_as_published(const std::string& plan, const std::string& cell,
                         const std::string& recipe) {
  SCOPED_TRACE(cell);
  const auto cells = expand(load_plan(kRecipes / "studies" / (plan + ".toml")));
  run::TrainConfig published;
  read_layered_config(kRecipes / (recipe + ".toml"), published);
  for (const auto& d : run::differences(resolve(published), cell_named(cells, cell).config)) {
    ADD_FAILURE() << d.key << ": recipe " << d.before << ", plan " << d.now;
  }
}

TEST(Plan, ThePapersFollowThePublishedRecipes) {
  expect_as_published("iwslt14", "post-ln-e6d6-warmup-s1", "iwslt14-post-ln");
  expect_as_published("iwslt14", "resi-dual-e12d12-warmup-s1", "iwslt14-resi-dual-12");
  expect_as_published("iwslt14", "pre-ln-e6d6-no-warmup-s1", "iwslt14-pre-ln-no-warmup");
  expect_as_published("iwslt14", "resi-dual-e12d12-linear-s1", "iwslt14-resi-dual-12-linear");
  expect_as_published("iwslt14", "t-fixup-e12d12-warmup-s1", "iwslt14-t-fixup-12");
  expect_as_published("wmt14", "b2t-e18d18-s1", "wmt14-b2t-18");
  expect_as_published("wmt14", "resi-dual-e6d6-s1", "wmt14-resi-dual");
  expect_as_published("wmt14-one-pipeline", "resi-dual-e18d18-s1", "wmt14-resi-dual-18");
  expect_as_published("opus100", "resi-dual-e18d18-s1379", "opus100-resi-dual-18");
  expect_as_published("opus100", "post-ln-e18d18-s1379", "opus100-post-ln-18");
}

TEST(Plan, Newstest2014IsWhatFetchBrings) {
  const auto tests = load_plan(kRecipes / "studies/wmt14.toml").evaluate.tests;
  const auto found = std::ranges::find(tests, "2014", &TestPlan::name);
  ASSERT_NE(found, tests.end());
  EXPECT_EQ(found->source, "data/wmt14/test.en");
  EXPECT_EQ(found->reference, "data/wmt14/test.de");
}

}  // namespace
}  // namespace residual::study
