#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "run/run_directory.h"
#include "support/error_of.h"
#include "support/shell.h"
#include "support/tiny_run.h"
#include "train/trainer.h"

// Whole runs of a task that is small enough for a test.
namespace residual::train {

class Runs : public testing::Test {
 protected:
  Runs() { Progress::set_quiet(true); }
  ~Runs() override { Progress::set_quiet(false); }

  static const test::ReverseTask& task() {
    static const test::ReverseTask made;
    return made;
  }

  // `residual-train train` with these arguments; words before it in `before`.
  test::ShellResult shell(const std::string& arguments, const std::string& before = "") const {
    return test::run(before + " residual-train train " + arguments);
  }
  std::string start(const run::TrainConfig& config, const fs::path& run) const {
    return task().recipe(config).string() + " -o " + run.string();
  }
  std::string resume(const fs::path& run) const { return "--resume -o " + run.string(); }
  fs::path path(const std::string& name) const { return directory_ / name; }

  // In this process.
  static run::RunDirectory create(const run::TrainConfig& config, const fs::path& path) {
    return run::RunDirectory::create(
        path, run::resolve(run::Corpora(config).with_vocabularies(config)), false);
  }
  static std::string error_of(Trainer& trainer) {
    const run::StopSignals signals;
    return residual::test::error_of([&] { trainer.run(signals); });
  }

  static fs::path newest(const fs::path& run) {
    std::vector<fs::path> all(fs::directory_iterator(run / run::kCheckpoints), {});
    return all.empty() ? fs::path() : *std::ranges::max_element(all);
  }
  static void expect_same_end(const fs::path& a, const fs::path& b) {
    EXPECT_EQ(newest(a).filename(), newest(b).filename());
    EXPECT_TRUE(read_file(newest(a)) == read_file(newest(b))) << "checkpoints differ";
    EXPECT_EQ(read_file(a / "metrics.jsonl"), read_file(b / "metrics.jsonl"));
    for (const char* model : {"best", "last"}) {
      EXPECT_TRUE(read_file(a / model / "model.safetensors") ==
                  read_file(b / model / "model.safetensors"))
          << model;
    }
  }

  test::TemporaryDirectory directory_;
};

}  // namespace residual::train
