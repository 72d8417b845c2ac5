#include "study/runs_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "study/plans.h"
#include "study/report.h"
#include "study/tables.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/temporary.h"

namespace residual::study {
namespace {

using test::error_of;
using test::TinyPlan;
using testing::HasSubstr;

constexpr const char* kSchedules =
    "[[schedules]]\nname = \"warm\"\n[[schedules]]\nname = \"cold\"\n"
    "set = [\"schedule.warmup=5\"]\n";

// Two schemes, two depths and two schedules, with curves; one run failed, one has no result.
class RunsCsv : public ::testing::Test {
 protected:
  RunsCsv()
      : plan_(tiny_.load("depths = [6, 12]\n", std::string(test::kTwoSchemes) + kSchedules)),
        work_(look(plan_, {.output = tiny_.output(), .program = "residual"})),
        all_{.plan = plan_, .output = tiny_.output()} {
    for (size_t i = 0; i < work_.size(); ++i) {
      Finding finding{.work = work_[i], .commit = "0123456789ab"};
      const double dev = 5 + static_cast<double>(i) / 4;
      finding.result = Result{.updates = 20,
                              .seconds = 7,
                              .converged = i != 2,
                              .dev_nll = dev,
                              .unigram = 8,
                              .scores = {{"en-de", 12.25}}};
      finding.record.dev = {.x = {10, 20}, .y = {9, dev}};
      if (i == 3) finding.result.reset();
      all_.cells.push_back(std::move(finding));
    }
  }

  KnownRuns read_back(const std::string& text) const {
    replace_file(tiny_.path("runs.csv"), text);
    return read_runs_csv({tiny_.path("runs.csv")});
  }

  TinyPlan tiny_;
  Plan plan_;
  std::vector<Work> work_;
  Findings all_;
};

TEST_F(RunsCsv, HasALineForEveryFinishedRun) {
  const std::string csv = runs_csv(all_);
  EXPECT_EQ(std::ranges::count(csv, '\n'), static_cast<int64_t>(work_.size()));  // 1 head, 1 left
  EXPECT_THAT(csv, HasSubstr("\npost-ln-e6d6-warm-s1,post-ln,,6,6,warm,"));
  EXPECT_EQ(read_file(write_report(all_) / "runs.csv"), csv);
}

TEST_F(RunsCsv, ComesBackAsTheSameLines) {
  const std::string csv = runs_csv(all_);
  const Findings again = gather(plan_, work_, tiny_.output(), read_back(csv));
  EXPECT_EQ(runs_csv(again), csv);
  EXPECT_FALSE(again.cells[3].result);
}

// The tables and heat maps of a page need nothing but the file.
TEST_F(RunsCsv, GivesTheTablesAndMapsOfTheRunsThemselves) {
  const Findings again = gather(plan_, work_, tiny_.output(), read_back(runs_csv(all_)));
  const auto rows = [](const Findings& all) {
    std::vector<std::string> texts;
    for (const auto& row : grid_table(all).rows) {
      for (const auto& cell : row) texts.push_back(cell.text);
    }
    return texts;
  };
  EXPECT_EQ(rows(again), rows(all_));
  const auto map = [](const Findings& all) {
    return report::to_csv(make_report(all).figures.at(1));  // the second scheme's
  };
  EXPECT_THAT(map(all_), HasSubstr(",E6D6,E12D12\nwarm,38."));  // 2^5.25
  EXPECT_THAT(map(again), HasSubstr(",E6D6,E12D12\nwarm,38."));
}

TEST_F(RunsCsv, RefusesWhatDoesNotFit) {
  const std::string csv = runs_csv(all_);
  EXPECT_THAT(error_of([&] { read_back("run,scheme\n"); }), HasSubstr("first line must be"));
  EXPECT_THAT(error_of([&] { read_back(csv + "a,b\n"); }), HasSubstr("expected 16 columns"));
  EXPECT_THAT(error_of([&] { read_back(csv + "post-ln-e6d6-warm-s1,,,,,,,,x,,,,,,,\n"); }),
              HasSubstr("another result"));
  std::string other = csv;
  other.replace(other.find(",post-ln,"), 9, ",pre-ln,");
  EXPECT_THAT(error_of([&] { gather(plan_, work_, tiny_.output(), read_back(other)); }),
              HasSubstr("was trained as"));
}

// A table of a page is what `residual study PLAN --known FILE --report` writes.
struct Page {
  std::string plan, page;
};

class Pages : public testing::TestWithParam<Page> {};

TEST_P(Pages, ShowWhatTheirFilesHave) {
  const fs::path root = test::source_tree();
  const test::TemporaryDirectory empty;
  const Plan plan = load_plan(root / "recipes/studies" / (GetParam().plan + ".toml"));
  const auto work = look(plan, {.output = empty.path(), .program = "residual"});
  const auto known = read_runs_csv({root / "docs/results/study" / (GetParam().plan + ".csv")});
  report::Report report;
  report.tables = {perplexity_table(gather(plan, work, empty.path(), known))};
  const std::string text = report::to_markdown(report);
  const std::string table = text.substr(text.find("| Method"));
  EXPECT_THAT(read_file(root / "docs/results" / GetParam().page),
              HasSubstr(table.substr(0, table.find("\n\n"))))
      << "the table should read\n"
      << table;
}

INSTANTIATE_TEST_SUITE_P(Results, Pages,
                         testing::Values(Page{"small-rates", "rates.md"},
                                         Page{"small-language", "claims.md"}),
                         [](const auto& tested) {
                           std::string name = tested.param.plan;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace residual::study
