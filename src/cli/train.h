#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "run/config.h"
#include "run/run_directory.h"

namespace residual::cli {

struct TrainCommand {
  fs::path recipe, output, replay;
  std::string data;
  std::vector<std::string> settings;  // --set, in the order given
  int64_t probe_every = 0;            // updates; 0: no live probe
  bool resume = false;
  bool distributed = false;
  bool force = false;
  bool explain = false;
  bool check = false;
};

// --output, or what stands for it.
fs::path output_of(const TrainCommand& command);

// The recipe file, or that of the run to resume, then --data, then --set: each overrules what came
// before.
run::TrainConfig read_recipe(const TrainCommand& command);

// The run of --resume, which takes its own recipe if none is given, and --set on top of it.
run::RunDirectory open_run(const TrainCommand& command);

// Of a run that is resumed: says how to give the corpus if its path was relative to a directory
// that this is not.
void require_corpus(const TrainCommand& command, const run::TrainConfig& config);

// The command's options; `run` is called for what needs LibTorch. --explain and --check do not.
void add_train(CLI::App& root, std::function<void(const TrainCommand&)> run);

}  // namespace residual::cli
