#include "study/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
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

// The p value is of all test sets pooled: it says nothing of one of them.
TEST(Summary, IsSignificantOverAllTestSetsOnly) {
  const TinyPlan tiny;
  Findings all = example(tiny);
  for (auto& finding : all.cells) {
    finding.p_value = 0.01;
    finding.gain = 2;
  }
  EXPECT_EQ(text_of(summarise(all, {1, 0, 0})), "32.00 ± 2.00*");
  EXPECT_EQ(text_of(summarise(all, {1, 0, 0}, "en-de")), "31.00 ± 2.00");
  EXPECT_EQ(text_of(summarise(all, {1, 0, 0}, kToEnglish)), "33.00 ± 2.00");
}

// Test sets may differ together and have the same mean.
TEST(Summary, IsNotSignificantWithoutADifference) {
  const TinyPlan tiny;
  Findings all = example(tiny);
  for (auto& finding : all.cells) finding.p_value = 0.01;
  EXPECT_EQ(text_of(summarise(all, {1, 0, 0})), "32.00 ± 2.00");
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

std::vector<std::string> texts(const std::vector<report::TextCell>& row) {
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

TEST(Tables, HaveAVariantInNoRowOfThePapers) {
  const TinyPlan tiny;
  const auto plan = tiny.load("depths = 6\ntables = 2\n",
                              "[[schemes]]\nname = \"admin\"\nvariant = \"log\"\n"
                              "[[schemes]]\nname = \"deepnorm\"\nvariant = \"paper\"\n");
  const auto work = look(plan, {.output = tiny.output(), .program = "residual"});
  Findings all{.plan = plan, .output = tiny.output()};
  for (const auto& item : work) {
    all.cells.push_back(
        {.work = item, .result = Result{.converged = true, .scores = {{"dev", 30}}}});
  }
  const auto table = paper_table(*find_table(2), all);
  EXPECT_EQ(table.rows.size(), find_table(2)->rows.size() + 1);
  EXPECT_THAT(texts(table.rows.at(2)), ElementsAre("DeepNet", "35.34", "30.00", "35.39", "–"));
  EXPECT_THAT(texts(table.rows.at(3)), ElementsAre("Admin", "35.50", "–", "35.67", "–"));
  EXPECT_THAT(texts(table.rows.back()), ElementsAre("admin, log", "–", "30.00", "–", "–"));
}

TEST(Tables, SayOfRunsWhatIsLeftToDo) {
  const TinyPlan tiny;
  Findings all = example(tiny);
  all.cells.resize(3);
  for (auto& finding : all.cells) finding.result.reset();
  all.cells[1].record.updates = all.cells[2].record.updates = 30;
  all.cells[1].work.done = 0.5;
  all.cells[2].work.done = 1;
  const auto table = run_table(all);
  EXPECT_EQ(table.rows.at(0).at(1).text, "not begun");
  EXPECT_EQ(table.rows.at(1).at(1).text, "50 %");
  EXPECT_EQ(table.rows.at(2).at(1).text, "trained, not scored");
}

// Of table 6, by row and column.
std::string ours_of_wmt(const Findings& all, const std::string& method, const std::string& column) {
  const auto table = paper_table(*find_table(6), all);
  const auto at = std::ranges::find(table.columns, column + ", here") - table.columns.begin();
  for (const auto& row : table.rows) {
    if (row.at(0).text == method) return row.at(static_cast<size_t>(at)).text;
  }
  return "no such row";
}

void score_years(Findings& all, const std::vector<std::string>& years) {
  for (auto& finding : all.cells) {
    if (!finding.result) continue;
    finding.result->scores.clear();
    for (const auto& year : years) finding.result->scores.push_back({year, 30});
  }
}

TEST(Tables, HaveNoMeanBesideThePapersUnlessItIsOverTheSameTestSets) {
  const TinyPlan tiny;
  Findings all = example(tiny);
  score_years(all, {"2010", "2011", "2012", "2013", "2014", "2015"});
  EXPECT_EQ(ours_of_wmt(all, "ResiDual", "2015"), "30.00 ± 0.00");
  EXPECT_EQ(ours_of_wmt(all, "ResiDual", "2016"), "–");
  EXPECT_EQ(ours_of_wmt(all, "ResiDual", "Average"), "–");
  score_years(all, {"2010", "2011", "2012", "2013", "2014", "2015", "2016"});
  EXPECT_EQ(ours_of_wmt(all, "ResiDual", "Average"), "30.00 ± 0.00");
}

TEST(Tables, SayFailOnlyOfTestSetsThatTheStudyHas) {
  const TinyPlan tiny;
  Findings all = example(tiny);
  score_years(all, {"2014"});
  for (auto& finding : all.cells) {
    if (finding.result) finding.result->converged = false;
  }
  EXPECT_EQ(ours_of_wmt(all, "Post-LN", "2014"), "Fail");
  EXPECT_EQ(ours_of_wmt(all, "Post-LN", "2015"), "–");
  EXPECT_EQ(ours_of_wmt(all, "Post-LN", "Average"), "Fail");
}

// Post-LN, the baseline, and ResiDual with the same translations.
void write_results(const Plan& plan, const TinyPlan& tiny, const std::vector<bool>& converged) {
  const auto work = look(plan, {.output = tiny.output(), .program = "residual"});
  fs::create_directories(tiny.output() / "results" / plan.name());
  for (size_t i = 0; i < work.size(); ++i) {
    const fs::path file = result_file(tiny.output(), plan, work[i].cell);
    replace_file(file, to_toml(Result{.made_from = fingerprint(plan, work[i].cell),
                                      .corpus = corpus_fingerprint(plan, tiny.task().prepared()),
                                      .converged = converged.at(i),
                                      .scores = {{"dev", 100}}}));
    replace_file(fs::path(file).replace_extension(".dev.txt"),
                 read_file(tiny.task().path("dev.de")));
  }
}

TEST(PValues, AreOfRunsThatConvergedAsTheirBaselineDid) {
  const TinyPlan tiny;
  const Plan plan = tiny.load("depths = 1\nbaseline = \"post-ln\"\n", test::kTwoSchemes);
  const auto p_value = [&](const std::vector<bool>& converged) {
    write_results(plan, tiny, converged);
    const auto work = look(plan, {.output = tiny.output(), .program = "residual"});
    return gather(plan, work, tiny.output()).cells.at(1).p_value;
  };
  EXPECT_TRUE(p_value({true, true}));
  EXPECT_FALSE(p_value({false, true}));
  EXPECT_FALSE(p_value({true, false}));
}

TEST(PValues, NameTheTranslationThatDoesNotFitItsTestSet) {
  const TinyPlan tiny;
  const Plan plan = tiny.load("depths = 1\nbaseline = \"post-ln\"\n", test::kTwoSchemes);
  write_results(plan, tiny, {true, true});
  const auto work = look(plan, {.output = tiny.output(), .program = "residual"});
  replace_file(tiny.output() / "results/plan/resi-dual-e1d1-s1.dev.txt", "a\nb\n");
  EXPECT_THAT([&] { gather(plan, work, tiny.output()); },
              testing::ThrowsMessage<Error>(HasSubstr(
                  "resi-dual-e1d1-s1.dev.txt: has 2 lines, the reference of dev has 40")));
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

TEST(Report, DrawsEachScheme) {
  const TinyPlan tiny;
  const Findings all = example(tiny);
  const report::Report report = make_report(all);
  ASSERT_EQ(report.drawings.size(), all.plan.schemes.size());
  EXPECT_EQ(report.drawings[0].title, label_of(all.plan.schemes[0]));
  EXPECT_THAT(report.drawings[0].svg, HasSubstr("<svg"));
  EXPECT_NE(report.drawings[0].svg, report.drawings[1].svg);
}

TEST(ShellLine, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_line({"residual", "--set", "a=[1, 2]", "it's"}),
            "residual --set 'a=[1, 2]' 'it'\\''s'");
}

}  // namespace
}  // namespace residual::study
