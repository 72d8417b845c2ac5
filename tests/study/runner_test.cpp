#include "study/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "data/prepared.h"
#include "run/run_directory.h"
#include "study/overview.h"
#include "study/plans.h"

namespace residual::study {
namespace {

using test::kTwoSchemes;
using test::TinyPlan;
using testing::HasSubstr;

// A study whose trainer is a shell script. $run is the directory it is to write, $name the cell's.
class Studied : public testing::Test {
 protected:
  Studied() { Progress::set_quiet(true); }
  ~Studied() override { Progress::set_quiet(false); }

  void trainer(const std::string& body) {
    const fs::path script = tiny_.path("trainer");
    replace_file(script, "#!/bin/sh\necho \"$@\" >> '" + tiny_.path("calls").string() +
                             "'\nwhile [ \"$1\" != --output ]; do shift; done\n"
                             "run=$2 name=$(basename \"$2\")\nmkdir -p \"$run\"\n" +
                             body);
    ::chmod(script.c_str(), 0755);
    options_.program = script;
  }
  std::vector<Work> look() const { return study::look(plan_, options_); }
  int run() const { return study::run(plan_, look(), options_); }
  // What a run of this configuration leaves that was interrupted.
  void begin(const Cell& cell) const {
    const fs::path run = run_directory(options_.output, cell);
    fs::create_directories(run);
    replace_file(run / run::kRunConfig, to_toml(run::resolve(cell.config)));
    replace_file(run / run::kMetrics, "");
  }
  std::string calls() const {
    return fs::exists(tiny_.path("calls")) ? read_file(tiny_.path("calls")) : "";
  }

  TinyPlan tiny_;
  Plan plan_ = tiny_.load("depths = 1\n", kTwoSchemes);
  RunnerOptions options_{.output = tiny_.output()};
};

constexpr const char* kNonfinite = "mkdir -p \"$run/nonfinite-000000003\"\nexit 1\n";

TEST_F(Studied, RecordsNumbersThatAreNotFiniteAndGoesOn) {
  trainer(kNonfinite);
  EXPECT_EQ(run(), 0);
  const auto result = load_result(plan_, look()[0].cell, options_.output);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->converged);
  EXPECT_THAT(result->reason, HasSubstr("not finite"));
  EXPECT_TRUE(result->scores.empty());
}

TEST_F(Studied, SkipsWhatIsDone) {
  trainer(kNonfinite);
  run();
  const std::string before = calls();
  EXPECT_EQ(look()[0].action, Action::nothing);
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(calls(), before);
}

TEST_F(Studied, ScoresAnewWhenTheEvaluationChanges) {
  trainer(kNonfinite);
  run();
  plan_.evaluate.beam = 3;
  EXPECT_NE(look()[0].action, Action::nothing);
  plan_.evaluate.beam = 5;
  plan_.jobs = 2;  // has no influence
  EXPECT_EQ(look()[0].action, Action::nothing);
}

TEST_F(Studied, KeysThatDecideNothingLeaveItDone) {
  trainer(kNonfinite);
  run();
  plan_.settings = {"log.every_updates=30", "checkpoint.keep_last=5", "train.recompute=true"};
  EXPECT_EQ(look()[0].action, Action::nothing);
  plan_.settings = {"schedule.peak=1e-3"};
  EXPECT_NE(look()[0].action, Action::nothing);
}

TEST_F(Studied, ChangedTestTextsMakeItStale) {
  trainer(kNonfinite);
  run();
  const fs::path reference = tiny_.task().path("dev.de");
  const std::string before = read_file(reference);
  replace_file(reference, "a\n" + before);
  EXPECT_NE(look()[0].action, Action::nothing);
  replace_file(reference, before);
  EXPECT_EQ(look()[0].action, Action::nothing);
  // Where they lie does not matter.
  fs::rename(reference, tiny_.path("moved"));
  plan_.evaluate.tests[0].reference = tiny_.path("moved").string();
  EXPECT_EQ(look()[0].action, Action::nothing);
}

TEST_F(Studied, PlansThatShareADirectoryHaveResultsOfTheirOwn) {
  trainer(kNonfinite);
  run();
  const Plan first = plan_;
  plan_.file = tiny_.path("other.toml");
  plan_.evaluate.beam = 2;
  run();
  EXPECT_EQ(look()[0].action, Action::nothing);
  plan_ = first;
  EXPECT_EQ(look()[0].action, Action::nothing);
}

TEST_F(Studied, AnotherCorpusOfTheSameNameMakesItStale) {
  trainer(kNonfinite);
  run();
  const fs::path file = tiny_.task().prepared() / "prepared.toml";
  auto manifest = data::load_manifest(file.parent_path());
  manifest.commit = "another";
  replace_file(file, to_toml(manifest));
  EXPECT_EQ(look()[0].action, Action::nothing);
  manifest.files[0].checksum = "another";
  replace_file(file, to_toml(manifest));
  EXPECT_NE(look()[0].action, Action::nothing);
  // A study may be reported where its corpus is not.
  fs::remove(file);
  EXPECT_EQ(look()[0].action, Action::nothing);
}

TEST_F(Studied, ResumesWhatWasInterrupted) {
  trainer("echo '{\"update\":30}' > \"$run/speed.jsonl\"; exit 143\n");
  EXPECT_EQ(run(), 1);
  begin(look()[0].cell);
  const auto work = look();
  EXPECT_EQ(work[0].action, Action::resume);
  EXPECT_EQ(work[0].done, 0.5);  // of 60 updates
  EXPECT_EQ(work[0].command.back(), "--resume");
  EXPECT_EQ(work[1].action, Action::start);
}

// Since it looked, another process has done the first cell and begun the second.
TEST_F(Studied, SharesTheWorkWithAnotherProcess) {
  trainer(kNonfinite);
  const auto work = look();
  run();
  const auto second = run_directory(options_.output, work[1].cell);
  fs::remove(result_file(options_.output, plan_, work[1].cell));
  begin(work[1].cell);
  fs::remove(tiny_.path("calls"));
  EXPECT_EQ(study::run(plan_, work, options_), 0);
  EXPECT_EQ(std::ranges::count(calls(), '\n'), 1);
  EXPECT_THAT(calls(), HasSubstr(second.string() + " --resume"));
}

TEST_F(Studied, OneFailureLeavesTheOthersAlone) {
  trainer("case $name in post-ln*) echo broken; exit 1;; esac\n" + std::string(kNonfinite));
  EXPECT_EQ(run(), 1);
  const auto work = look();
  EXPECT_FALSE(load_result(plan_, work[0].cell, options_.output));
  EXPECT_TRUE(load_result(plan_, work[1].cell, options_.output));
  EXPECT_THAT(read_file(log_file(options_.output, work[0].cell)), HasSubstr("broken"));
}

TEST_F(Studied, RefusesRunsOfAnotherConfiguration) {
  trainer(kNonfinite);
  Cell cell = look()[0].cell;
  cell.config.schedule.peak = 0.25;
  cell.config.train.max_updates += 1;
  begin(cell);
  try {
    look();
    FAIL() << "taken for the same";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("schedule.peak: was 0.25, now 0.005"));
    EXPECT_THAT(error.what(), HasSubstr("train.max_updates: was 61, now 60"));
  }
}

// It was refused, or killed before it did anything.
TEST_F(Studied, ARunThatHasOnlyAConfigurationIsNotInTheWay) {
  trainer(kNonfinite);
  Cell cell = look()[0].cell;
  cell.config.schedule.peak = 0.25;
  begin(cell);
  const fs::path run = run_directory(options_.output, cell);
  fs::remove(run / run::kMetrics);
  fs::create_directories(run / run::kCheckpoints);
  EXPECT_EQ(look()[0].action, Action::start);
  EXPECT_NE(look()[0].command.back(), "--resume");
  replace_file(run / run::kCheckpoints / "000000001.safetensors", "");
  EXPECT_THAT([&] { look(); }, testing::ThrowsMessage<Error>(HasSubstr("schedule.peak: was 0.25")));
}

TEST_F(Studied, RunsSideBySide) {
  options_.jobs = 2;  // each waits for the other
  trainer(
      "touch \"$run/here\"\nwhile [ $(ls -d \"$run\"/../*/here | wc -l) -lt 2 ]; do "
      "sleep 0.01; done\n" +
      std::string(kNonfinite));
  EXPECT_EQ(run(), 0);
}

TEST_F(Studied, ProgressCountsWhatWasThereBefore) {
  trainer(kNonfinite);
  auto work = look();
  work[0].action = Action::nothing;
  work[0].done = 1;
  work[1].done = 0.5;
  double now = 0;
  Overview overview(work, options_.output,
                    {.is_terminal = false,
                     .columns = 80,
                     .write = [](const std::string&) {},
                     .now = [&] { return std::chrono::duration<double>(now); }});
  EXPECT_EQ(overview.status({}), "study: 1 of 2 runs, 75 %");
  fs::create_directories(run_directory(options_.output, work[1].cell));
  replace_file(run_directory(options_.output, work[1].cell) / "speed.jsonl",
               "{\"update\":45}\n{\"upd");
  now = 100;  // half of what was left
  EXPECT_EQ(overview.status({&work[1]}),
            "study: 1 of 2 runs, 87 % | resi-dual-e1d1-s1 75 % | 1m 40s left");
}

}  // namespace
}  // namespace residual::study
