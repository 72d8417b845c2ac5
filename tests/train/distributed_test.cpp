// Runs in several processes of mpirun: the same bytes as in one, and what happens when one of them
// is lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs.h"

namespace residual::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Distributed : public Runs {
 protected:
  void SetUp() override {
    if (std::system("command -v mpirun > /dev/null") != 0) {
      GTEST_SKIP() << "mpirun is not installed; scripts/setup installs it";
    }
  }

  // Four workers, so that there may be up to four processes; 0.9 million parameters, so that each
  // of those owns a slice.
  static run::TrainConfig config() {
    run::TrainConfig made = task().config();
    made.model.width = 128;
    made.model.inner = 1024;
    made.model.max_positions = 32;
    made.train.max_updates = 24;
    made.train.workers = 4;
    return made;
  }

  // mpirun for processes on this machine. The other processes have twenty seconds when one dies.
  static std::string mpirun(int processes) {
    return fmt::format(
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "OMPI_MCA_odls_base_sigkill_timeout=20 mpirun --oversubscribe --bind-to none --mca "
        "mpi_yield_when_idle 1 -n {} ",
        processes);
  }

  // `residual-train train --distributed` with these arguments in so many processes. The exit code
  // is mpirun's; `error` has what the processes print, each line after its rank. `meanwhile` is a
  // script that runs beside them; $pid0, $pid1 ... are the processes.
  static test::ShellResult together(int processes, const std::string& arguments,
                                    const std::string& meanwhile = "",
                                    const std::string& before = "") {
    return test::run(fmt::format(
        "cat > rank <<'END'\n"
        "#!/bin/bash\n"
        "rank=$OMPI_COMM_WORLD_RANK\n"
        "echo $$ > pid$rank.new; mv pid$rank.new pid$rank\n"
        "{3}\n"
        "exec residual-train train --distributed \"$@\" 2> >(sed \"s/^/$rank: /\" > err$rank)\n"
        "END\n"
        "chmod +x rank\n"
        "{0} ./rank {1} > /dev/null 2> launcher &\n"
        "mpirun=$!\n"
        "pids() {{ for r in $(seq 0 {2}); do while [ ! -e pid$r ]; do sleep 0.05; done\n"
        "  eval pid$r=$(cat pid$r); done; }}\n"
        "pids\n"
        "{4}\n"
        "wait $mpirun; code=$?; sleep 0.2; cat err* launcher >&2; exit $code",
        mpirun(processes), arguments, processes - 1, before, meanwhile));
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

// With as many processes as workers, gradients travel directly to their owners.
TEST_F(Distributed, RunsEndWithTheBytesOfOneProcessWithAWorkerEach) {
  ASSERT_EQ(shell(start(config(), path("one"))).exit_code, 0);
  const auto ended = together(4, start(config(), path("four")));
  ASSERT_EQ(ended.exit_code, 0) << ended.error;
  expect_same_end(path("one"), path("four"));
}

TEST_F(Distributed, ProbesSeeTheWholeGradient) {
  const std::string probe = " --probe every=10";
  ASSERT_EQ(shell(start(config(), path("one")) + probe).exit_code, 0);
  const auto ended = together(3, start(config(), path("three")) + probe);
  ASSERT_EQ(ended.exit_code, 0) << ended.error;
  expect_same_end(path("one"), path("three"));
  EXPECT_THAT(read_file(path("one") / "metrics.jsonl"), HasSubstr("decoder_gradients"));
}

// Every process names the lost one within thirty seconds, and the command that resumes.
void expect_named(const std::string& error, int lost, std::initializer_list<int> others) {
  for (const int rank : others) {
    EXPECT_THAT(error, testing::ContainsRegex(fmt::format(
                           "{}: residual: error: process {} .*has disappeared: .*residual train "
                           "--resume -o .* --distributed",
                           rank, lost)));
  }
}

TEST_F(Distributed, RunsGoOnInAnotherNumberOfProcessesAfterOneIsKilled) {
  run::TrainConfig one = config();
  one.optimizer.average_decay = 0.9;
  one.train.max_updates = 60;
  ASSERT_EQ(shell(start(one, path("one"))).exit_code, 0);
  const auto killed =
      together(3, start(one, path("killed")), until_it_has_saved("killed") + "kill -KILL $pid2");
  EXPECT_EQ(killed.exit_code, 137) << killed.error;
  expect_named(killed.error, 2, {0, 1});
  const auto resumed = together(4, resume(path("killed")));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.error;
  expect_same_end(path("one"), path("killed"));
}

TEST_F(Distributed, AStoppedProcessIsNamedByTheOthers) {
  run::TrainConfig one = config();
  one.train.max_updates = 1'000'000;
  for (const int stopped : {0, 1}) {
    const auto run = fmt::format("run{}", stopped);
    const auto ended =
        together(3, start(one, path(run)),
                 until_it_has_saved(run) + fmt::format("kill -STOP $pid{}", stopped));
    EXPECT_EQ(ended.exit_code, 75) << ended.error;
    if (stopped == 0) expect_named(ended.error, 0, {1, 2});
    if (stopped == 1) expect_named(ended.error, 1, {0, 2});
  }
}

TEST_F(Distributed, RestartsAfterALoss) {
  run::TrainConfig one = config();
  one.train.max_updates = 60;
  ASSERT_EQ(shell(start(one, path("one"))).exit_code, 0);
  const auto ended = test::run(
      fmt::format("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
                  "residual train {} --launcher 'mpirun --oversubscribe -n 2' --max-restarts 1 &\n"
                  "{}kill -KILL $(ps -C residual-train -o pid=,args= | grep -F '{}' | "
                  "awk 'END {{print $1}}')\nwait $!",
                  start(one, path("run")), until_it_has_saved("run"), path("run").string()));
  EXPECT_EQ(ended.exit_code, 0) << ended.error;
  EXPECT_THAT(ended.error,
              HasSubstr("resuming from the last checkpoint in 10 seconds, 0 restarts left"));
  expect_same_end(path("one"), path("run"));
}

TEST_F(Distributed, ASignalToOneStopsAll) {
  run::TrainConfig one = config();
  one.train.max_updates = 1'000'000;
  const auto stopped =
      together(2, start(one, path("run")), until_it_has_saved("run") + "kill -TERM $pid1");
  EXPECT_EQ(stopped.exit_code, 143) << stopped.error;
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

  const auto alone = shell("--distributed " + start(one, path("run")));
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_THAT(alone.error, HasSubstr("no MPI launcher started this process"));

  const auto foreign =
      shell("--distributed " + start(one, path("run")), "env PMI_RANK=0 PMI_SIZE=2 ");
  EXPECT_EQ(foreign.exit_code, 1);
  EXPECT_THAT(foreign.error, HasSubstr("the launcher started 2 processes, but residual-mpi's MPI "
                                       "sees 1"));
}

// Copies of program and module whose commit reads backwards.
TEST_F(Distributed, ProcessesMustBeOfOneVersion) {
  const std::string copies =
      "commit=$(residual-train --version | sed -n '1s/.*(\\([0-9a-f]*\\).*/\\1/p')\n"
      "mkdir -p other$rank; cp $(dirname $(command -v residual-train))/residual-{train,mpi.so} "
      "other$rank\n"
      "LC_ALL=C sed -i s/$commit/$(echo $commit | rev)/g other$rank/";
  const auto mixed = together(3, start(config(), path("run")), "",
                              "if [ $rank = 1 ]; then " + copies + "*; PATH=$PWD/other1:$PATH; fi");
  EXPECT_EQ(mixed.exit_code, 1);
  for (const int rank : {0, 1, 2}) {
    EXPECT_THAT(mixed.error, HasSubstr(fmt::format("{}: residual: error: process 1 (", rank)));
  }
  EXPECT_THAT(mixed.error, HasSubstr("their results would differ"));

  const auto torn = together(1, start(config(), path("run")), "",
                             copies + "residual-mpi.so; PATH=$PWD/other0:$PATH");
  EXPECT_EQ(torn.exit_code, 1);
  EXPECT_THAT(torn.error, HasSubstr("install both from one build"));
}

// Two processes of which the second has other text.
TEST_F(Distributed, ProcessesMustHaveTheSameText) {
  run::TrainConfig one = config();
  one.train.max_updates = 5;
  const auto with_data = [&](const fs::path& data, const std::string& options = "") {
    return together(2, start(one, path("run")) + options, "",
                    fmt::format("[ $rank = 1 ] && set -- \"$@\" --data {}", data.string()));
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

TEST_F(Distributed, AMistakeOfTheFirstProcessEndsAll) {
  const auto mistaken = together(2, start(config(), path("run")) + " --set train.max_updats=3");
  EXPECT_EQ(mistaken.exit_code, 2);
  EXPECT_THAT(mistaken.error, HasSubstr("max_updats"));
}

}  // namespace
}  // namespace residual::train
