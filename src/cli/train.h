#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "run/config.h"
#include "run/run_directory.h"

namespace residual::cli {

// Exit code of a process that lost another one: EX_TEMPFAIL of sysexits.h. Starting again may help.
inline constexpr int kLostPeer = 75;

struct TrainCommand {
  fs::path recipe, output, replay;
  std::string data;
  std::vector<std::string> settings;  // --set, in the order given
  int64_t probe_every = 0;            // updates; 0: no live probe
  std::string launcher;      // empty: the processes were started by hand or are one
  int64_t max_restarts = 0;  // by the launcher
  bool resume = false;
  bool distributed = false;
  bool force = false;
  bool explain = false;
  bool check = false;
};

// Returns --output, or its default.
fs::path output_of(const TrainCommand& command);

// Reads the recipe file, or that of the run to resume, then --data, then --set; each overrides the
// previous ones.
run::TrainConfig read_recipe(const TrainCommand& command);

// Opens the run of --resume with its own recipe if none is given, and applies --set.
run::RunDirectory open_run(const TrainCommand& command);

// Fails if the corpus of a resumed run is missing. If its path is relative to another directory,
// the message explains how to give the corpus.
void require_corpus(const TrainCommand& command, const run::TrainConfig& config);

// Adds `residual train` and its options. The command calls `run` for work that needs LibTorch;
// --explain and --check do not need it.
void add_train(CLI::App& root, std::function<void(const TrainCommand&)> run);

}  // namespace residual::cli
