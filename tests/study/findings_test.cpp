#include "study/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/plans.h"
#include "study/report.h"
#include "study/tables.h"

namespace residual::study {
namespace {

using test::TinyPlan;
using testing::ElementsAre;
using testing::HasSubstr;

// Post-LN and ResiDual at depths 6 and 12 with three seeds. Post-LN fails at 12, and with one seed
// at 6; ResiDual gives 30, 32, 34 at 6, and is not done at 12.
Findings example(const TinyPlan& tiny) {
  Findings all{
      .plan = tiny.load("depths = [6, 12]\nseeds = [1, 2, 3]\ntables = 2\n", test::kTwoSchemes),
      .output = tiny.output()};
  for (const auto& work : look(all.plan, {.output = all.output, .program = "residual"})) {
    const Cell& c = work.cell;
    Finding finding{.work = work};
    Result result{.converged = c.scheme == 1 || (c.depth == 0 && c.seed > 0)};
    const double bleu = 30 + 2 * static_cast<double>(c.seed);
    result.scores = {{"en-de", bleu - 1}, {"de-en", bleu + 1}};
    if (c.scheme == 0 || c.depth == 0) finding.result = result;
    if (c.depth == 0) finding.record.dev = {.x = {10, 20}, .y = {9, 5}};
    all.cells.push_back(std::move(finding));
  }
  return all;
}

TEST(Summary, IsMeanAndSampleDeviationOverSeeds) {
  const TinyPlan tiny;
  const Findings all = example(tiny);
  const Summary dual = summarise(all, {.scheme = 1, .depth = 0, .schedule = 0});
  EXPECT_EQ(dual.done, 3);
  EXPECT_DOUBLE_EQ(dual.mean, 32);
  EXPECT_DOUBLE_EQ(dual.deviation, 2);  // of 30, 32, 34, over n - 1
  EXPECT_DOUBLE_EQ(summarise(all, {1, 0, 0}, "en-de").mean, 31);
  EXPECT_DOUBLE_EQ(summarise(all, {1, 0, 0}, kToEnglish).mean, 33);
}

TEST(Summary, IsNotSignificantWhereSeedsContradictEachOther) {
  const TinyPlan tiny;
  Findings all = example(tiny);
  for (auto& finding : all.cells) {
    finding.p_value = 0.01;
    finding.gain = 2;
  }
  EXPECT_EQ(summarise(all, {1, 0, 0}).p_value, 0.01);
  for (auto& finding : all.cells) {
    if (finding.work.cell.seed == 1) finding.gain = -2;
  }
  EXPECT_EQ(summarise(all, {1, 0, 0}).p_value, 1);
}

TEST(Summary, SaysHowManySeedsFailed) {
  const TinyPlan tiny;
  const Findings all = example(tiny);
  EXPECT_EQ(text_of(summarise(all, {0, 0, 0})), "33.00 ± 1.41 (1 of 3 failed)");
  EXPECT_EQ(text_of(summarise(all, {0, 1, 0})), "Fail");
  EXPECT_EQ(text_of(summarise(all, {1, 1, 0})), "–");
  EXPECT_EQ(text_of({.done = 1, .scored = 1, .mean = 35.374, .p_value = 0.01}), "35.37*");
  EXPECT_EQ(text_of({.done = 1, .scored = 1, .mean = 35.374, .p_value = 0.2}), "35.37");
}

TEST(Summary, OfATestSetThatWasNotScoredIsNothing) {
  const TinyPlan tiny;
  Findings all = example(tiny);
  for (auto& finding : all.cells) finding.p_value = 0.01;
  EXPECT_EQ(text_of(summarise(all, {1, 0, 0}, "2014")), "–");
  EXPECT_FALSE(summarise(all, {1, 0, 0}, "2014").p_value);
}

std::vector<std::string> texts(const std::vector<probe::TextCell>& row) {
  std::vector<std::string> out;
  for (const auto& cell : row) out.push_back(cell.text);
  return out;
}

TEST(Tables, StandBesideThePapersInItsLayout) {
  const TinyPlan tiny;
  const auto table = paper_table(*find_table(2), example(tiny));
  EXPECT_THAT(table.columns,
              ElementsAre("Method", "E6D6, paper", "E6D6, here", "E12D12, paper", "E12D12, here"));
  EXPECT_THAT(texts(table.rows.at(0)),
              ElementsAre("Post-LN", "35.37", "33.00 ± 1.41 (1 of 3 failed)", "Fail", "Fail"));
  EXPECT_THAT(texts(table.rows.at(1)), ElementsAre("Pre-LN", "35.12", "–", "35.18", "–"));
  EXPECT_THAT(texts(table.rows.back()),
              ElementsAre("ResiDual", "35.63", "32.00 ± 2.00", "36.09", "–"));
}

TEST(Tables, HaveTheStudysOwnDepthsAndSchemesBehindThePapers) {
  const TinyPlan tiny;
  const auto table = paper_table(*find_table(3), example(tiny));  // of 6 and 18 layers
  EXPECT_EQ(table.columns.back(), "E12D12, here");
  const auto opus = paper_table(*find_table(4), example(tiny));  // without Post-LN
  EXPECT_EQ(opus.rows.back().at(0).text, "post-ln");
}

TEST(Tables, HaveARowForEveryVariant) {
  const TinyPlan tiny;
  const auto plan = tiny.load("depths = 6\ntables = 2\n",
                              "[[schemes]]\nname = \"admin\"\n"
                              "[[schemes]]\nname = \"admin\"\nvariant = \"log\"\n");
  const auto table = paper_table(*find_table(2), {.plan = plan, .output = tiny.output()});
  EXPECT_EQ(table.rows.back().at(0).text, "admin, log");
  EXPECT_EQ(table.rows.size(), find_table(2)->rows.size() + 1);
}

TEST(Tables, AverageColumnOfWmtIsTheMeanOfItsYears) {
  for (const int64_t number : {6, 7}) {
    for (const auto& row : find_table(number)->rows) {
      if (row.values.back() == "Fail") continue;
      double sum = 0;
      for (size_t year = 0; year < 7; ++year) sum += std::stod(row.values[year]);
      EXPECT_NEAR(sum / 7, std::stod(row.values[7]), 0.0051) << number << " " << row.head[0];
    }
  }
}

TEST(Report, HasTablesCurvesAndCommands) {
  const TinyPlan tiny;
  const fs::path directory = write_report(example(tiny));
  const std::string page = read_file(directory / "report.md");
  EXPECT_THAT(page, HasSubstr("| Method | E6D6, paper | E6D6, here |"));
  EXPECT_THAT(page, HasSubstr("| [post-ln-e6d6-s1](../../runs/post-ln-e6d6-s1) | failed"));
  EXPECT_THAT(page, HasSubstr("residual --threads"));
  EXPECT_THAT(page, HasSubstr("(dev-e6d6.svg)"));
  EXPECT_TRUE(fs::exists(directory / "dev-e6d6.svg"));
  EXPECT_FALSE(fs::exists(directory / "dev-e12d12.svg"));  // nothing to draw yet
  EXPECT_THAT(read_file(directory / "report.html"), HasSubstr("uPlot"));
}

TEST(ShellLine, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_line({"residual", "--set", "a=[1, 2]", "it's"}),
            "residual --set 'a=[1, 2]' 'it'\\''s'");
}

}  // namespace
}  // namespace residual::study
