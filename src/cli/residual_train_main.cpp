// residual-train: the program for the commands that need LibTorch. `residual` runs it with the same
// command line.

#include <fmt/format.h>

#include <csignal>
#include <memory>
#include <optional>
#include <vector>

#include "base/config.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/probe_run.h"
#include "cli/program.h"
#include "cli/train.h"
#include "probe/live.h"
#include "run/place.h"
#include "run/start.h"
#include "text/sentence_piece.h"
#include "train/device_check.h"
#include "train/learner.h"
#include "train/nonfinite.h"
#include "train/ranks/peers.h"
#include "train/ranks/ranks_module.h"
#include "train/torch_version.h"
#include "train/trainer.h"

namespace residual::cli {
namespace {

// Checks the settings of a new run. A missing GPU comes first, because no other setting fixes that.
void check_settings(const run::TrainConfig& config) {
  if (config.train.device.starts_with("cuda")) train::device_of(config.train.device);
  run::check(config);
}

void check_processes(const run::TrainConfig& config, int processes) {
  require(
      config.train.device == "cpu" || config.train.workers == processes,
      "train.workers: is {}; one GPU is driven by one worker, and the number of processes is {}",
      config.train.workers, processes);
  if (processes == 1) return;
  require(config.train.workers >= processes,
          "train.workers: {} processes need at least as many workers, but the run has {}",
          processes, config.train.workers);
}

run::RunDirectory start(const TrainCommand& command, int processes) {
  const run::TrainConfig config = read_recipe(command);
  check_settings(config);
  const run::Corpora corpora(config);
  const run::TrainConfig resolved = run::resolve(corpora.with_vocabularies(config), processes);
  check_processes(resolved, processes);
  if (!resolved.train.start_from.empty()) run::start_values(resolved, corpora);  // may refuse
  return run::RunDirectory::create(output_of(command), resolved, command.force);
}

// Returns the exit code.
int run_to_the_end(train::Trainer& trainer, const run::StopSignals& signals) {
  return trainer.run(signals) == train::End::interrupted ? 128 + trainer.signal() : 0;
}

// In a process other than process 0: the recipe comes from process 0.
int follow(const TrainCommand& command, const train::Peers& peers,
           const run::StopSignals& signals) {
  std::string text;
  peers.spread(text);
  std::vector<int64_t> probe_every;
  peers.spread(probe_every);
  run::TrainConfig config;
  read_toml(text, "process 0's recipe", [&](ConfigVisitor& visit) { fields(visit, config); });
  if (!command.data.empty()) config.data.prepared = command.data;
  train::Trainer trainer(config, peers);
  trainer.observed_every(probe_every.at(0));
  return run_to_the_end(trainer, signals);
}

int lead(const TrainCommand& command, const train::Peers& peers, const run::StopSignals& signals) {
  run::RunDirectory run = command.resume ? open_run(command) : start(command, peers.size());
  require_corpus(command, run.config());
  check_processes(run.config(), peers.size());
  std::string text = to_toml(run.config());
  peers.spread(text);
  std::vector<int64_t> probe_every = {command.probe_every};
  peers.spread(probe_every);
  std::optional<probe::LiveProbe> live;
  if (command.probe_every > 0) live.emplace(run.config(), command.probe_every);
  train::Trainer trainer(run, FileSystem::real(), peers);
  if (live) trainer.observe(*live);
  return run_to_the_end(trainer, signals);
}

// Checks the command before the processes connect, so that an error does not keep the others
// waiting.
void check_before_meeting(const TrainCommand& command) {
  const run::TrainConfig config =
      command.resume ? open_run(command).config() : read_recipe(command);
  if (!command.resume) check_settings(config);
  require_corpus(command, config);
  const run::Corpora corpora(config);
}

// The versions and CPU features that must be equal in all processes for consistent numbers.
std::string kind_of_process() {
  return fmt::format("residual {} {}, LibTorch {}, {}", version(), commit(), train::torch_version(),
                     cpu_features());
}

int run_alone(const TrainCommand& command) {
  const run::StopSignals signals;
  return lead(command, train::Peers::alone(), signals);
}

// Mistakes in the command are found before the processes meet, so that they end the launcher soon.
int run_with_others(const TrainCommand& command) {
  const run::Place place = run::place_from_environment();
  if (place.rank == 0) check_before_meeting(command);
  const train::Peers peers(train::open_ranks, kind_of_process());
  require(peers.size() == place.size,
          "--distributed: the launcher started {} processes, but residual-mpi's MPI sees {}: they "
          "belong to different MPIs, or srun lacks --mpi=pmix",
          place.size, peers.size());
  const run::StopSignals signals;
  return peers.leads() ? lead(command, peers, signals) : follow(command, peers, signals);
}

void run_train(const TrainCommand& command) {
  if (!command.replay.empty()) {
    fmt::print("{}", train::replay(command.replay));
    return;
  }
  std::signal(SIGPIPE, SIG_IGN);  // the reader of the messages may exit before the run ends
  int code = 0;
  try {
    code = command.distributed ? run_with_others(command) : run_alone(command);
  } catch (const train::PeerFailed&) {
    throw;
  } catch (const train::PeerLost& lost) {
    fmt::print(stderr, "residual: error: {}\n", lost.what());
    code = kLostPeer;
  }
  if (code != 0) throw CLI::RuntimeError(code);
}

// Adds `residual-train check-device DEVICE`, which `residual doctor --device` runs and reads.
void add_check_device(CLI::App& root) {
  CLI::App* command = root.add_subcommand("check-device", "")->group("");
  auto device = std::make_shared<std::string>();
  command->add_option("device", *device)->required();
  command->callback([device] {
    for (const auto& check : train::check_device(*device)) {
      fmt::print("{}\t{}\t{}\n", check.passed ? "ok" : "problem", check.name, check.found);
    }
  });
}

// Finds `residual` beside this program, or in PATH.
fs::path residual_program() {
  std::error_code ignored;
  const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "residual";
  return fs::exists(beside, ignored) ? beside : fs::path("residual");
}

}  // namespace
}  // namespace residual::cli

int main(int argc, char** argv) {
  residual::keep_freed_memory();
  residual::text::SentencePiece::run_by(residual::cli::residual_program());
  return residual::cli::run_program(argc, argv, [](CLI::App& root) {
    residual::cli::add_version(root,
                               [] { return "LibTorch: " + residual::train::torch_version(); });
    residual::cli::add_train(root, residual::cli::run_train);
    residual::cli::add_probe(root, residual::cli::run_probe);
    residual::cli::add_check_device(root);
  });
}
