#include "review/review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "review/curves.h"
#include "review/summary.h"
#include "support/temporary.h"

namespace residual::review {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Records example(const std::string& name, double loss = 3) {
  Records r{.name = name, .update = 500};
  r.curves["train/loss"] = curve(5, [&](int i) { return loss + 9 - i; });
  r.curves["valid/perplexity"] = curve(2, [&](int i) { return 20 - i; });
  r.curves["speed/tokens_per_second"] = curve(5, [](int) { return 1000; });
  return r;
}

std::vector<std::string> figures_of(const report::Report& report) {
  std::vector<std::string> ids;
  for (const auto& figure : report.figures) ids.push_back(figure.id);
  return ids;
}

TEST(Review, DrawsOnlyWhatWasRecorded) {
  Records r = example("a");
  EXPECT_EQ(figures_of(report_of(r)), (std::vector<std::string>{"loss", "perplexity", "speed"}));
  r.gradients["decoder"] = {{100, {1, 2}}, {200, {1, 3}}};
  r.curves["valid/bleu"] = curve(2, [](int) { return 30; });
  EXPECT_THAT(figures_of(report_of(r)), Contains("bleu"));
  EXPECT_THAT(figures_of(report_of(r)), Contains("decoder-blocks"));
}

TEST(Review, PutsWarningsFirstAndSaysWhenThereAreNone) {
  Records r = example("a");
  EXPECT_EQ(report_of(r).messages.at(0).kind, report::Message::Kind::good);
  r.state = State::failed;
  r.last_message = "error: no space";
  EXPECT_EQ(report_of(r).messages.at(0).kind, report::Message::Kind::problem);
  const std::string markdown = report::to_markdown(report_of(r));
  EXPECT_LT(markdown.find("no space"), markdown.find("## Learning curves"));
}

TEST(Review, ShowsSamplesOfTheFirstAMiddleAndTheLastValidation) {
  Records r = example("a");
  for (int i = 0; i < 5; ++i)
    r.samples.push_back({100 * (i + 1), {{"ein Haus", "a house", fmt::format("try {}", i)}}});
  const auto table = report_of(r).tables.at(0);
  std::vector<std::string> texts;
  for (const auto& row : table.rows) texts.push_back(row.at(1).text);
  EXPECT_EQ(texts, (std::vector<std::string>{"ein Haus", "a house", "try 0", "try 2", "try 4"}));
}

TEST(Review, ShowsTheSchemeOfTheRun) {
  Records r = example("a");
  r.config.emplace();
  EXPECT_THAT(report_of(r).drawings.at(0).svg, HasSubstr("<svg"));
}

TEST(Review, KeepsTheLastPointOfALongCurve) {
  Records r = example("a");
  r.curves["train/loss"] = curve(10'001, [](int i) { return 10.0 - 1e-4 * i; });
  const auto& line = report_of(r).figures.at(0).series.at(0);
  EXPECT_LT(line.x.size(), 2000U);
  EXPECT_EQ(line.x.back(), 100.0 * 10'001);
}

TEST(Compare, DrawsTheRunsInTheSameCharts) {
  Records failed = example("b", 4);
  failed.state = State::failed;
  failed.last_message = "error: no space";
  const report::Report report = compare({example("a"), failed});
  EXPECT_EQ(report.figures.at(0).id, "loss-t");
  EXPECT_EQ(report.figures[0].series.at(0).name, "a");
  EXPECT_EQ(report.figures[0].series.at(1).name, "b");
  EXPECT_EQ(report.tables.at(0).rows.at(1).at(2).text, "failed");
  EXPECT_EQ(report.messages.at(0).text, "b: The run ended with an error: no space");
}

TEST(Compare, DrawsEachSchemeOnce) {
  std::vector<Records> runs;
  for (const char* scheme : {"post-ln", "resi-dual", "post-ln"}) {
    runs.push_back(example(scheme));
    runs.back().config.emplace();
    runs.back().config->model.residual.name = scheme;
  }
  const report::Report report = compare(runs);
  ASSERT_EQ(report.drawings.size(), 2U);
  EXPECT_EQ(report.drawings[0].title, "What two layers of post-ln compute");
  EXPECT_THAT(report.drawings[1].svg, HasSubstr("<svg"));
}

TEST(Summary, HasTheBestAndTheLatestValues) {
  const Summary s = summary_of(example("a"));
  EXPECT_EQ(describe(s), "finished, update 500; best dev perplexity 19");
  const auto list = nlohmann::json::parse(to_json({s}));
  EXPECT_EQ(list["runs"][0]["loss"], 8);
  EXPECT_TRUE(list["runs"][0]["bleu"].is_null());
}

TEST(WriteReport, PutsThePageIntoTheRun) {
  const test::TemporaryDirectory run;
  replace_file(run / "metrics.jsonl", "{\"kind\":\"train\",\"update\":1,\"loss\":2}\n");
  write_report(run.path());
  EXPECT_THAT(read_file(run / "report.html"), HasSubstr("Training of "));
  EXPECT_THAT(read_file(run / "report.html"), Not(HasSubstr("src=")));
}

}  // namespace
}  // namespace residual::review
