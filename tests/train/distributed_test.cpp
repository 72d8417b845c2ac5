// Runs in several processes: the same bytes as in one, and what happens when one of them is lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs.h"
#include "support/free_port.h"

namespace residual::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Distributed : public Runs {
 protected:
  // Four workers, so that there may be up to four processes.
  static run::TrainConfig config() {
    run::TrainConfig made = task().config();
    made.train.workers = 4;
    return made;
  }

  // `residual-train train --distributed` with these arguments in so many processes; the exit code
  // is process 0's, what the others print comes after it. `meanwhile` is a script that runs beside
  // them; $pid0, $pid1 ... are the processes.
  static test::ShellResult together(int processes, const std::string& arguments,
                                    const std::string& meanwhile = "") {
    std::string script = fmt::format("export WORLD_SIZE={} MASTER_ADDR=127.0.0.1 MASTER_PORT={}\n",
                                     processes, test::free_port());
    for (int rank = 0; rank < processes; ++rank) {
      script +=
          fmt::format("RANK={0} residual-train train --distributed {1} 2> err{0} &\npid{0}=$!\n",
                      rank, arguments);
    }
    script += meanwhile + "\nwait $pid0; code=$?; wait; cat err* >&2; exit $code";
    return test::run(script);
  }

  // Waits for the run's first checkpoint.
  std::string until_it_has_saved(const std::string& run) const {
    return fmt::format(
        "for i in $(seq 6000); do ls {}/*.safetensors > /dev/null 2>&1 && break; sleep 0.01; "
        "done\n",
        (path(run) / run::kCheckpoints).string());
  }
};

TEST_F(Distributed, RunsEndWithTheBytesOfOneProcess) {
  run::TrainConfig one = config();
  one.train.workers = 5;  // which two or three processes cannot share evenly
  one.validate.bleu = true;
  one.model.residual.name = "admin";  // looks at data before it begins
  one.optimizer.average_decay = 0.9;
  ASSERT_EQ(shell(start(one, path("one"))).exit_code, 0);
  for (const int processes : {2, 3}) {
    const auto run = path(fmt::format("run{}", processes));
    const auto ended = together(processes, start(one, run));
    ASSERT_EQ(ended.exit_code, 0) << ended.error;
    EXPECT_THAT(ended.error, HasSubstr(fmt::format("5 workers in {} processes", processes)));
    expect_same_end(path("one"), run);
    EXPECT_THAT(read_file(run / "environment.toml"),
                HasSubstr(fmt::format("processes = {}", processes)));
  }
}

TEST_F(Distributed, RunsGoOnInAnotherNumberOfProcessesAfterOneIsKilled) {
  run::TrainConfig one = config();
  one.train.max_updates = 240;
  ASSERT_EQ(shell(start(one, path("one"))).exit_code, 0);
  const auto killed =
      together(3, start(one, path("killed")), until_it_has_saved("killed") + "kill -KILL $pid2");
  EXPECT_EQ(killed.exit_code, 1);
  EXPECT_THAT(killed.error,
              AllOf(HasSubstr("process 2 (127.0.0.1): "), HasSubstr("process 1 (127.0.0.1): "),
                    HasSubstr("residual train --resume -o ")));
  const auto resumed = together(4, resume(path("killed")));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.error;
  expect_same_end(path("one"), path("killed"));
}

TEST_F(Distributed, ASignalToOneStopsAll) {
  run::TrainConfig one = config();
  one.train.max_updates = 1'000'000;
  const auto stopped =
      together(2, start(one, path("run")),
               until_it_has_saved("run") + "kill -TERM $pid1\nwait $pid1; echo $?");
  EXPECT_EQ(stopped.exit_code, 143) << stopped.error;
  EXPECT_EQ(stopped.output, "143\n");
  EXPECT_THAT(stopped.error, HasSubstr("continue with: residual train --resume"));
}

TEST_F(Distributed, TheFirstProcessTellsWhatIsNotFinite) {
  run::TrainConfig one = config();
  one.schedule = {.kind = run::ScheduleKind::constant, .peak = 1e30, .warmup = 0};
  const auto stopped = together(2, start(one, path("run")));
  EXPECT_EQ(stopped.exit_code, 1);
  EXPECT_THAT(stopped.error, AllOf(HasSubstr("is not finite; first: encoder"),
                                   HasSubstr("is not finite; process 0 reports where")));
  EXPECT_TRUE(fs::exists(path("run") / "nonfinite-000000002"));
}

TEST_F(Distributed, ProcessesMustFitTheRun) {
  run::TrainConfig one = config();
  one.train.workers = 2;
  const auto many = together(3, start(one, path("run")));
  EXPECT_EQ(many.exit_code, 1);
  EXPECT_THAT(many.error, HasSubstr("3 processes need at least as many workers"));
  EXPECT_FALSE(fs::exists(path("run") / run::kRunConfig));

  const auto alone = shell("--distributed " + start(one, path("run")), "env -u RANK");
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_THAT(alone.error, HasSubstr("the environment has no rank and number of processes"));
}

// Two processes of which the second has other text.
TEST_F(Distributed, ProcessesMustHaveTheSameText) {
  run::TrainConfig one = config();
  one.train.max_updates = 5;
  const auto with_data = [&](const fs::path& data, const std::string& options = "") {
    return test::run(fmt::format(
        "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT={0}\n"
        "RANK=1 residual-train train --distributed {1} --data {2} 2> err &\n"
        "RANK=0 residual-train train --distributed {1}; code=$?; wait; cat err >&2; exit $code",
        test::free_port(), start(one, path("run")) + options, data.string()));
  };
  const test::ReverseTask other(300);
  const auto other_text = with_data(other.prepared());
  EXPECT_EQ(other_text.exit_code, 1);
  EXPECT_THAT(other_text.error, HasSubstr("corpus of process 1 differs from that of process 0"));

  fs::copy(task().prepared(), path("other-dev"), fs::copy_options::recursive);
  fs::copy_file(path("other-dev") / "train.corpus", path("other-dev") / "dev.corpus",
                fs::copy_options::overwrite_existing);
  const auto other_dev = with_data(path("other-dev"));
  EXPECT_EQ(other_dev.exit_code, 1);
  EXPECT_THAT(other_dev.error, HasSubstr("corpus of process 1 differs from that of process 0"));

  // What was refused has not begun, and is not in the way.
  EXPECT_FALSE(fs::exists(path("run") / run::kRunConfig));
  const auto same = with_data(task().prepared());
  EXPECT_EQ(same.exit_code, 0) << same.error;

  const std::string before = read_file(newest(path("run")));
  EXPECT_EQ(with_data(path("other-dev"), " --force").exit_code, 1);
  EXPECT_TRUE(read_file(newest(path("run"))) == before);
}

TEST_F(Distributed, AMistakeOfTheFirstProcessIsToldBeforeTheOthersCome) {
  const auto mistaken = test::run(
      "RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 timeout 30 residual-train train --distributed " +
      start(config(), path("run")) + " --set train.max_updats=3");
  EXPECT_EQ(mistaken.exit_code, 2);
  EXPECT_THAT(mistaken.error, HasSubstr("max_updats"));
}

}  // namespace
}  // namespace residual::train
