// residual-train: the commands that need LibTorch. `residual` runs it; its command line is the
// same.

#include <fmt/format.h>

#include <optional>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/probe_run.h"
#include "cli/program.h"
#include "cli/train.h"
#include "probe/live.h"
#include "train/learner.h"
#include "train/nonfinite.h"
#include "train/torch_version.h"
#include "train/trainer.h"

namespace residual::cli {
namespace {

fs::path output_of(const TrainCommand& command) {
  return command.output.empty() ? fs::path("runs") / command.recipe.stem() : command.output;
}

// Before there is a run directory; and the missing GPU first, which no other setting mends.
void check_settings(const train::TrainConfig& config) {
  if (config.train.device.starts_with("cuda")) train::device_of(config.train.device);
  train::check(config);
}

// --resume takes the run's own recipe if none is given, and --set on top of it.
train::RunDirectory resume(const TrainCommand& command) {
  const fs::path output = output_of(command);
  const bool changed =
      !command.recipe.empty() || !command.settings.empty() || !command.data.empty();
  if (!changed || !fs::exists(output / train::kRunConfig)) {
    return train::RunDirectory::resume(output, nullptr);
  }
  const train::TrainConfig config = read_recipe(command);
  check_settings(config);
  return train::RunDirectory::resume(output, &config);
}

train::RunDirectory start(const TrainCommand& command) {
  const train::TrainConfig config = read_recipe(command);
  check_settings(config);
  const train::Corpora corpora(config);
  return train::RunDirectory::create(
      output_of(command), train::resolve(corpora.with_vocabularies(config)), command.force);
}

void run_train(const TrainCommand& command) {
  if (!command.replay.empty()) {
    fmt::print("{}", train::replay(command.replay));
    return;
  }
  const train::StopSignals signals;
  train::RunDirectory run = command.resume ? resume(command) : start(command);
  train::Trainer trainer(run);
  std::optional<probe::LiveProbe> live;
  if (command.probe_every > 0) {
    live.emplace(run.config(), command.probe_every);
    trainer.observe(*live);
  }
  if (trainer.run(signals) == train::End::interrupted) {
    throw CLI::RuntimeError(128 + signals.received());
  }
}

}  // namespace
}  // namespace residual::cli

int main(int argc, char** argv) {
  residual::keep_freed_memory();
  return residual::cli::run_program(argc, argv, [](CLI::App& root) {
    residual::cli::add_version(root,
                               [] { return "LibTorch: " + residual::train::torch_version(); });
    residual::cli::add_train(root, residual::cli::run_train);
    residual::cli::add_probe(root, residual::cli::run_probe);
  });
}
