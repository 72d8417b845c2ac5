// Runs that are started over, resumed with other settings, made longer or shorter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runs.h"

namespace residual::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Resumed : public Runs {
 protected:
  static run::TrainConfig config(int64_t updates) {
    run::TrainConfig made = task().config();
    made.train.max_updates = updates;
    return made;
  }
  // The corpus with another dev part.
  fs::path with_other_dev() const {
    fs::copy(task().prepared(), path("other-dev"), fs::copy_options::recursive);
    fs::copy_file(path("other-dev") / "train.corpus", path("other-dev") / "dev.corpus",
                  fs::copy_options::overwrite_existing);
    return path("other-dev");
  }
  static std::string last_of(const fs::path& run) { return newest(run).filename(); }
};

TEST_F(Resumed, RunsGiveWayOnlyToOneThatIsAccepted) {
  ASSERT_EQ(shell(start(config(5), path("run"))).exit_code, 0);
  const std::string checkpoint = read_file(newest(path("run")));
  const std::string metrics = read_file(path("run") / run::kMetrics);
  fs::copy(task().prepared(), path("no-text"), fs::copy_options::recursive);
  fs::remove(path("no-text") / "dev.de.txt");
  const std::pair<std::string, const char*> mistakes[] = {
      {"--set batch.max_tokens=5", "a batch at most 5"},
      {"--set model.width=65536", "the run needs about"},
      {"--set validate.metric=bleu --data " + path("no-text").string(), "has no raw text"},
      {"--start-from " + path("run").string(), "which --force starts over"},
      {"--start-from " + (path("run") / "best").string(), "which --force starts over"}};
  for (const auto& [settings, message] : mistakes) {
    const auto refused = shell(start(config(5), path("run")) + " --force " + settings);
    EXPECT_EQ(refused.exit_code, 1) << settings;
    EXPECT_THAT(refused.error, HasSubstr(message));
    EXPECT_TRUE(read_file(newest(path("run"))) == checkpoint) << settings;
    EXPECT_EQ(read_file(path("run") / run::kMetrics), metrics);
    EXPECT_TRUE(fs::exists(path("run") / "best" / "model.safetensors"));
  }
  const auto started = shell(start(config(3), path("run")) + " --force");
  EXPECT_EQ(started.exit_code, 0) << started.error;
  EXPECT_EQ(last_of(path("run")), run::checkpoint_name(3));
}

TEST_F(Resumed, RunsAreNotStartedOver) {
  const auto both = shell(resume(path("run")) + " --force");
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.error, HasSubstr("--resume excludes --force"));
}

TEST_F(Resumed, RunsGoOnWithTheirOwnDevCorpusOnly) {
  ASSERT_EQ(shell(start(config(5), path("run"))).exit_code, 0);
  const std::string other =
      resume(path("run")) + " --set train.max_updates=8 --data " + with_other_dev().string();
  const auto refused = shell(other);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, HasSubstr("its dev corpus is not the one that"));

  run::TrainConfig resolved;  // a checkpoint of a version that did not note it
  read_config(path("run") / run::kRunConfig, resolved);
  run::Checkpoint older = run::read_checkpoint(newest(path("run")), resolved.model);
  older.state.dev_corpus.clear();
  run::write_checkpoint(newest(path("run")), resolved.model, older);
  const auto gone_on = shell(other);
  EXPECT_EQ(gone_on.exit_code, 0) << gone_on.error;
}

TEST_F(Resumed, RunsNeedTheirTextFilesBeforeAnyWork) {
  fs::copy(task().prepared(), path("data"), fs::copy_options::recursive);
  const std::string data = " --data " + path("data").string();
  ASSERT_EQ(shell(start(config(5), path("run")) + data).exit_code, 0);
  const std::string longer = resume(path("run")) + " --set train.max_updates=10";
  const std::string anew = start(config(5), path("anew")) + data;
  const auto expect_refused = [&](const char* message) {
    for (const auto& arguments : {longer, "--check " + longer, anew, "--check " + anew}) {
      const auto refused = shell(arguments);
      EXPECT_EQ(refused.exit_code, 1) << arguments;
      EXPECT_THAT(refused.error, HasSubstr(message)) << arguments;
    }
  };
  std::ofstream(path("data") / "segmentation.de.toml", std::ios::app) << "# edited\n";
  expect_refused("segmentation.de.toml: ");
  fs::remove(path("data") / "segmentation.de.toml");
  expect_refused("segmentation.de.toml: is missing, and models of this corpus need it");
  EXPECT_EQ(last_of(path("run")), run::checkpoint_name(5));
  EXPECT_FALSE(fs::exists(path("anew")));
}

TEST_F(Resumed, RunsDoWhatCheckSays) {
  ASSERT_EQ(shell(start(config(5), path("first"))).exit_code, 0);
  run::TrainConfig from = config(5);
  from.train.start_from = path("first").string();
  ASSERT_EQ(shell(start(from, path("run"))).exit_code, 0);
  fs::rename(path("first"), path("moved"));
  const std::string longer = resume(path("run")) + " --set train.max_updates=8";

  const test::ReverseTask another(300);  // of the same vocabulary
  for (const fs::path& data : {another.prepared(), with_other_dev()}) {
    const auto checked = shell("--check " + longer + " --data " + data.string());
    const auto resumed = shell(longer + " --data " + data.string());
    EXPECT_EQ(checked.exit_code, 1);
    EXPECT_EQ(checked.error, resumed.error);
  }
  const auto checked = shell("--check " + longer);
  EXPECT_EQ(checked.exit_code, 0) << checked.error;
  EXPECT_EQ(shell(longer).exit_code, 0);
  EXPECT_EQ(last_of(path("run")), run::checkpoint_name(8));
}

TEST_F(Resumed, RunsOfEpochsMayBeGivenUpdates) {
  run::TrainConfig epochs = config(0);
  epochs.train.max_epochs = 1;
  ASSERT_EQ(shell(start(epochs, path("run"))).exit_code, 0);
  const auto longer =
      shell(resume(path("run")) + " --set train.max_epochs=0 --set train.max_updates=15");
  EXPECT_EQ(longer.exit_code, 0) << longer.error;
  EXPECT_EQ(last_of(path("run")), run::checkpoint_name(15));
}

// Nothing is learned: only the first validation is a gain.
TEST_F(Resumed, RunsLoseNoPatienceByHavingEnded) {
  run::TrainConfig still = config(15);
  still.schedule = {.kind = run::ScheduleKind::constant, .peak = 1e-30, .warmup = 0};
  still.validate = {.every_updates = 10, .every_epochs = 0, .patience = 1};
  ASSERT_EQ(shell(start(still, path("run"))).exit_code, 0);
  const auto longer = shell(resume(path("run")) + " --set train.max_updates=18");
  EXPECT_EQ(longer.exit_code, 0) << longer.error;
  EXPECT_THAT(longer.error, Not(HasSubstr("validate.patience is exhausted")));
  EXPECT_EQ(last_of(path("run")), run::checkpoint_name(18));
  const auto exhausted = shell(resume(path("run")) + " --set train.max_updates=40");
  EXPECT_THAT(exhausted.error, HasSubstr("validate.patience is exhausted"));
  EXPECT_EQ(last_of(path("run")), run::checkpoint_name(20));
}

TEST_F(Resumed, RunsThatHaveGoneFurtherHaveNothingToDo) {
  run::TrainConfig interrupted = config(20);
  interrupted.checkpoint.every_updates = 18;
  interrupted.validate = {.every_updates = 0, .every_epochs = 0};
  ASSERT_EQ(shell(start(interrupted, path("run"))).exit_code, 0);
  fs::remove(newest(path("run")));  // it stands between two lines of metrics
  for (const char* limit : {"max_updates=10", "max_updates=0 --set train.max_epochs=1"}) {
    const std::string before = read_file(path("run") / run::kRunConfig);
    const auto shorter = shell(resume(path("run")) + " --set train." + limit);
    EXPECT_EQ(shorter.exit_code, 0) << shorter.error;
    EXPECT_THAT(shorter.error,
                AllOf(HasSubstr("nothing to do: the run "), Not(HasSubstr("| epoch"))));
    EXPECT_EQ(last_of(path("run")), run::checkpoint_name(18));
    EXPECT_EQ(read_file(path("run") / run::kRunConfig), before);
    EXPECT_THAT(shell(resume(path("run")) + " --check --set train." + limit).error,
                HasSubstr("nothing to do: the run "));
  }
}

}  // namespace
}  // namespace residual::train
