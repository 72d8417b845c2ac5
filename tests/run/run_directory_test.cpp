#include "run/run_directory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "model/directory.h"
#include "run/metrics.h"
#include "support/error_of.h"
#include "support/temporary.h"

namespace residual::run {
namespace {

using test::error_of;
using testing::HasSubstr;

class RunDirectories : public testing::Test {
 protected:
  RunDirectories() {
    config_.data.prepared = "prepared";
    config_ = resolve(config_);
  }

  // A run that begins.
  void begin(bool force = false) const { RunDirectory::create(path_, config_, force).begin(""); }

  test::TemporaryDirectory directory_;
  fs::path path_ = directory_ / "run";
  TrainConfig config_;
};

TEST_F(RunDirectories, AreNotOverwrittenByAccident) {
  begin();
  replace_file(path_ / "metrics.jsonl", "old");
  replace_file(path_ / "notes.txt", "mine");
  EXPECT_THAT(error_of([&] { RunDirectory::create(path_, config_, false); }),
              HasSubstr("holds a run already; continue it with --resume"));
  begin(/*force=*/true);
  EXPECT_FALSE(fs::exists(path_ / "metrics.jsonl"));
  EXPECT_EQ(read_file(path_ / "notes.txt"), "mine");
}

TEST_F(RunDirectories, GiveWayOnlyWhenTheNewRunBegins) {
  begin();
  const std::string before = read_file(path_ / kRunConfig);
  const fs::path checkpoint = path_ / kCheckpoints / "000000060.safetensors";
  replace_file(path_ / "metrics.jsonl", "old");
  replace_file(checkpoint, "weights");
  config_.schedule.peak = 0.25;
  {
    const auto refused = RunDirectory::create(path_, config_, true);
    EXPECT_TRUE(refused.is_new());
  }
  EXPECT_EQ(read_file(path_ / kRunConfig), before);
  EXPECT_TRUE(fs::exists(path_ / "metrics.jsonl") && fs::exists(checkpoint));
  begin(/*force=*/true);
  EXPECT_FALSE(fs::exists(path_ / "metrics.jsonl") || fs::exists(checkpoint));
  EXPECT_EQ(RunDirectory::resume(path_, nullptr).config().schedule.peak, 0.25);
}

// Of which only the models were kept.
TEST_F(RunDirectories, WithModelsGiveWayToForceOnly) {
  begin();
  fs::remove(path_ / "metrics.jsonl");
  fs::create_directories(path_ / "best");
  EXPECT_TRUE(has_begun(path_));
  EXPECT_THAT(error_of([&] { RunDirectory::create(path_, config_, false); }),
              HasSubstr("holds a run already"));
  EXPECT_TRUE(fs::exists(path_ / "best"));
}

TEST_F(RunDirectories, AreNotStartedOverFromWhatTheyHold) {
  begin();
  replace_file(path_ / "metrics.jsonl", "old");
  fs::create_directory_symlink(path_, directory_ / "link");
  for (const fs::path& start : {path_, path_ / "best", directory_ / "link" / "last"}) {
    config_.train.start_from = start.string();
    EXPECT_THAT(error_of([&] { RunDirectory::create(path_, config_, true); }),
                HasSubstr("which --force starts over"));
  }
  config_.train.start_from = path_.string() + "-before/best";
  EXPECT_EQ(error_of([&] { RunDirectory::create(path_, config_, true); }), "");
}

TEST_F(RunDirectories, WithCheckpointsHoldARunOrSomebodyElses) {
  const std::pair<const char*, const char*> missing[] = {{"metrics.jsonl", "holds a run already"},
                                                         {kRunConfig, "that no run wrote"}};
  for (const auto& [name, message] : missing) {
    begin(/*force=*/true);
    replace_file(path_ / "metrics.jsonl", "old");
    replace_file(path_ / kCheckpoints / "000000060.safetensors", "weights");
    fs::remove(path_ / name);
    EXPECT_THAT(error_of([&] { RunDirectory::create(path_, config_, false); }), HasSubstr(message));
    EXPECT_TRUE(fs::exists(path_ / kCheckpoints / "000000060.safetensors"));
  }
}

TEST_F(RunDirectories, KeepTheirConfigurationUntilTheyGoOn) {
  begin();
  TrainConfig longer = config_;
  longer.train.max_updates = 7;
  { const auto refused = RunDirectory::resume(path_, &longer); }
  EXPECT_EQ(RunDirectory::resume(path_, nullptr).config().train.max_updates,
            config_.train.max_updates);
  auto run = RunDirectory::resume(path_, &longer);
  run.begin("");
  TrainConfig written;
  read_config(path_ / kRunConfig, written);
  EXPECT_EQ(written.train.max_updates, 7);
}

TEST_F(RunDirectories, ThatNeverBeganAreNotInTheWay) {
  { const auto run = RunDirectory::create(path_, config_, false); }
  EXPECT_FALSE(fs::exists(path_ / kRunConfig));
  begin();  // and was killed before it had anything to say
  config_.schedule.peak = 0.25;
  begin();
  EXPECT_EQ(RunDirectory::resume(path_, nullptr).config().schedule.peak, 0.25);
}

TEST_F(RunDirectories, AreNotMadeOfWhatNoRunWrote) {
  for (const char* name :
       {"config.toml", "best/keep.txt", "log.txt", "metrics.jsonl", "report.html",
        "checkpoints/model.pt", "checkpoints/000000060.safetensors"}) {
    const test::TemporaryDirectory directory;
    fs::create_directories((directory / name).parent_path());
    replace_file(directory / "config.toml", "[another]\nprogram = 1\n");
    replace_file(directory / name, "mine");
    for (const bool force : {false, true}) {
      EXPECT_THAT(error_of([&] { RunDirectory::create(directory.path(), config_, force); }),
                  HasSubstr("that no run wrote"))
          << name;
    }
    EXPECT_EQ(read_file(directory / name), "mine");
    EXPECT_FALSE(fs::exists(directory / "lock"));
  }
  begin();
  replace_file(path_ / "metrics.jsonl", "old");
  const char* theirs[] = {"events.csv", "nonfinite-notes.txt", "checkpoints/mine.pt"};
  const char* its[] = {"events.out.tfevents.1.host", "nonfinite-000000002",
                       "checkpoints/000000060.safetensors"};
  for (const char* name : theirs) replace_file(path_ / name, "1");
  for (const char* name : its) replace_file(path_ / name, "1");
  begin(/*force=*/true);
  for (const char* name : theirs) EXPECT_TRUE(fs::exists(path_ / name)) << name;
  for (const char* name : its) EXPECT_FALSE(fs::exists(path_ / name)) << name;
}

TEST_F(RunDirectories, WithoutTheirCheckpointsAreNotBegunAnew) {
  begin();
  const auto write_model = [&](const char* name, int64_t update) {
    model::Description description;
    description.update = update;
    fs::create_directories(path_ / name);
    replace_file(path_ / name / model::kConfigFile, to_toml(description));
  };
  const auto resume = [&] { return error_of([&] { RunDirectory::resume(path_, nullptr); }); };
  write_model("best", 10);
  EXPECT_EQ(resume(), "");  // killed while it wrote the first checkpoint
  write_model("last", 10);
  EXPECT_EQ(resume(), "");
  write_model("last", 20);
  EXPECT_THAT(resume(), HasSubstr("has models, but no checkpoint to resume from"));
  write_model("last", 10);
  const auto note = [&](int64_t update) {
    replace_file(path_ / kMetrics,
                 fmt::format("{{\"kind\":\"valid\",\"update\":{},\"loss\":3}}\n", update));
  };
  note(10);
  EXPECT_EQ(resume(), "");
  note(5);  // of which there was a checkpoint
  EXPECT_THAT(resume(), HasSubstr("has models, but no checkpoint to resume from"));
  fs::remove(path_ / kMetrics);
  write_model("last", config_.checkpoint.every_updates + 1);
  fs::remove_all(path_ / "best");
  EXPECT_THAT(resume(), HasSubstr("has models, but no checkpoint to resume from"));
  write_model("last", 10);
  EXPECT_EQ(resume(), "");
  fs::remove(path_ / kCheckpoints);
  EXPECT_THAT(resume(), HasSubstr("has models, but no checkpoint to resume from"));
}

TEST_F(RunDirectories, AreNotThoseOfPreparedCorpora) {
  fs::create_directories(path_);
  replace_file(path_ / "prepared.toml", "");
  EXPECT_THAT(error_of([&] { RunDirectory::create(path_, config_, true); }),
              HasSubstr("holds a prepared corpus"));
}

TEST_F(RunDirectories, KeepTheResolvedConfiguration) {
  begin();
  const auto run = RunDirectory::resume(path_, nullptr);
  EXPECT_EQ(to_toml(run.config()), to_toml(config_));
}

TEST_F(RunDirectories, CannotBeResumedAsAnotherRun) {
  begin();
  TrainConfig other = config_;
  other.schedule.peak = 0.1;
  EXPECT_THAT(error_of([&] { RunDirectory::resume(path_, &other); }),
              HasSubstr("schedule.peak: was 0.0005, now 0.1"));
  TrainConfig longer = config_;
  longer.train.max_updates = 7;
  const auto run = RunDirectory::resume(path_, &longer);
  EXPECT_EQ(run.config().train.max_updates, 7);
  EXPECT_EQ(run.config().schedule.total, config_.schedule.total);
}

TEST_F(RunDirectories, ThatAreNoneCannotBeResumed) {
  EXPECT_THAT(error_of([&] { RunDirectory::resume(directory_.path(), nullptr); }),
              HasSubstr("holds no run to resume"));
}

TEST_F(RunDirectories, HaveOneOwnerAtATime) {
  auto run = RunDirectory::create(path_, config_, false);
  run.begin("");
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string error = error_of([&] { RunDirectory::resume(path_, nullptr); });
    ::_exit(error.find("another process is training in it") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(RunDirectories, RecordEverySession) {
  auto run = RunDirectory::create(path_, config_, false);
  run.begin("LibTorch 1");
  run.begin("LibTorch 2");
  const std::string text = read_file(path_ / "environment.toml");
  EXPECT_THAT(text, HasSubstr("libraries = \"LibTorch 1\""));
  EXPECT_THAT(text, HasSubstr("libraries = \"LibTorch 2\""));
  EXPECT_THAT(text, HasSubstr("commit = "));
}

TEST_F(RunDirectories, WithADamagedRecordOfSessionsBeginItAnew) {
  auto run = RunDirectory::create(path_, config_, false);
  replace_file(path_ / "environment.toml", "[[sessions]]\nhost = \"a\"\n[[sess");
  log::set_level(log::Level::off);
  run.begin("LibTorch 1");
  log::set_level(log::Level::info);
  run.begin("LibTorch 2");
  const std::string text = read_file(path_ / "environment.toml");
  EXPECT_THAT(text, testing::Not(HasSubstr("host = \"a\"")));
  EXPECT_THAT(text, HasSubstr("libraries = \"LibTorch 1\""));
  EXPECT_THAT(text, HasSubstr("libraries = \"LibTorch 2\""));
}

TEST(GrowingFile, IsCutBackToWhatWasKnown) {
  const test::TemporaryDirectory directory;
  const fs::path path = directory / "metrics.jsonl";
  int64_t known = 0;
  {
    GrowingFile file(path);
    file.append_line({{"update", 1}, {"loss", 0.1}});
    known = file.bytes();
    file.append_line({{"update", 2}});
  }
  GrowingFile file(path, known);
  file.append_line({{"update", 3}});
  EXPECT_EQ(read_file(path), "{\"update\":1,\"loss\":0.1}\n{\"update\":3}\n");
}

TEST(GrowingFile, BeginsANewLine) {
  const test::TemporaryDirectory directory;
  for (const char* before : {"whole\nhal", "hal", ""}) {
    replace_file(directory / "speed.jsonl", before);
    GrowingFile file(directory / "speed.jsonl");
    file.append("x\n");
    EXPECT_EQ(read_file(directory / "speed.jsonl"), before[0] == 'w' ? "whole\nx\n" : "x\n");
  }
}

TEST(GrowingFile, ThatLostLinesIsContinuedWithAWarning) {
  const test::TemporaryDirectory directory;
  log::set_level(log::Level::off);
  GrowingFile file(directory / "metrics.jsonl", 100);
  log::set_level(log::Level::info);
  file.append("x\n");
  EXPECT_EQ(file.bytes(), 2);
}

}  // namespace
}  // namespace residual::run
