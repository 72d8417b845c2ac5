// residual train: trains a model on a prepared corpus according to a recipe.

#include "cli/train.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/recipe.h"
#include "data/recipe.h"
#include "model/parameters.h"
#include "run/checkpoint.h"
#include "run/config.h"
#include "run/corpora.h"
#include "run/memory.h"
#include "run/place.h"
#include "run/run_directory.h"
#include "run/start.h"

namespace residual::cli {
namespace {

// Checks that a run to resume has a checkpoint to continue from, made with these corpora.
bool goes_on(const fs::path& run, const run::TrainConfig& config, const run::Corpora& corpora) {
  const auto checkpoint = run::CheckpointStore(run / run::kCheckpoints, config.model).newest();
  if (!checkpoint) return false;
  corpora.require_those_of(checkpoint->state, run);
  const std::string passed = run::passed_limit(config.train, checkpoint->state);
  if (!passed.empty()) log::warn("nothing to do: {}", passed);
  return true;
}

// Describes the run without starting it.
void print_check(const TrainCommand& command) {
  const run::TrainConfig given = command.resume ? open_run(command).config() : read_recipe(command);
  require_corpus(command, given);
  if (!command.resume) run::check(given);
  const int processes = command.distributed ? run::place_from_environment().size : 1;
  const run::Corpora corpora(given);
  const run::TrainConfig config = run::resolve(corpora.with_vocabularies(given), processes);
  if (config.validate.wants_bleu()) corpora.require_dev_text();
  const bool has_begun = command.resume && goes_on(output_of(command), config, corpora);
  if (!has_begun && !config.train.start_from.empty()) run::start_values(config, corpora);
  data::Batcher batcher = corpora.batcher(config);
  const int64_t batches = batcher.batches_in_epoch(1);
  const int64_t updates =
      (batches + config.batch.update_frequency - 1) / config.batch.update_frequency;
  const auto count = [](int64_t n) { return format_count(static_cast<uint64_t>(n)); };
  fmt::print("model:   {}, {} parameters\n", config.model.residual.name,
             count(model::parameter_count(config.model)));
  fmt::print("epoch:   {} batch{}, {} update{}\n", count(batches), batches == 1 ? "" : "es",
             count(updates), updates == 1 ? "" : "s");
  fmt::print("memory:  {}\n", describe(run::estimate_memory(config, processes)));
  if (config.train.device != "cpu") {  // only LibTorch can check it
    fmt::print("device:  {}, not checked until training starts\n", config.train.device);
  }
  const std::string doubt = run::doubt_about(config);
  if (!has_begun && !doubt.empty()) log::warn("{}", doubt);
  run::require_memory(config, run::available_memory(), processes);
}

void check_usage(const TrainCommand& command) {
  const fs::path& recipe = command.recipe;
  if (!recipe.empty() && fs::exists(recipe / run::kRunConfig)) {
    throw CLI::ValidationError(
        fmt::format("{} is a run, not a recipe; continue it with residual train --resume -o {}",
                    recipe.string(), shell_word(recipe.string())));
  }
  if (!recipe.empty() || !command.replay.empty()) return;
  if (command.resume && command.output.empty()) throw CLI::RequiredError("--output RUN");
  const bool looks = command.explain || command.check;
  if (!command.resume && !looks) throw CLI::RequiredError("RECIPE");
}

void run(const TrainCommand& command, const std::function<void(const TrainCommand&)>& train) {
  check_usage(command);
  if (!command.explain && !command.check) return train(command);
  if (!command.explain) return print_check(command);
  fmt::print("{}", explain_config(read_recipe(command)));
}

void add_recipe_options(CLI::App& command, TrainCommand& options) {
  const std::string group = "Recipe";
  command.add_option("recipe", options.recipe, "recipe, a TOML file; see --explain")
      ->type_name("RECIPE")
      ->transform(installed_recipe)
      ->group(group);
  command.add_option("--data", options.data, "prepared directory; overrides the recipe")
      ->type_name("DIR")
      ->group(group);
  command.add_option("--set", options.settings, "override a key of the recipe; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(group);
  const auto add_setting = [&](const char* name, const char* key, const char* type,
                               const char* meaning) {
    command
        .add_option_function<std::string>(
            name,
            [&options, key](const std::string& value) {
              options.settings.push_back(fmt::format("{}={}", key, value));
            },
            meaning)
        ->type_name(type)
        ->group(group);
  };
  add_setting("--start-from", "train.start_from", "MODEL",
              "initialise the parameters from this model or run: train.start_from");
  add_setting("--device", "train.device", "DEVICE", "cpu, cuda or cuda:N: train.device");
  add_setting("--precision", "train.precision", "NAME", "fp32, bf16 or fp16: train.precision");
  add_setting("--ops", "train.ops", "NAME", "fused or reference: train.ops");
  command
      .add_flag("--explain", options.explain,
                "print the resulting recipe, every key with its meaning, and exit")
      ->group(group);
  command
      .add_flag("--check", options.check,
                "check the recipe and corpus, print the sizes of model, epoch and memory, and exit")
      ->group(group);
}

// "every=100"
int64_t parse_every(const std::string& text) {
  int64_t every = 0;
  const std::string prefix = "every=";
  std::string number = text.starts_with(prefix) ? text.substr(prefix.size()) : "";
  const bool fits = positive()(number).empty() && CLI::detail::lexical_cast(number, every);
  if (!fits) throw CLI::ValidationError("--probe", "expected every=N, got \"" + text + "\"");
  return every;
}

void add_run_options(CLI::App& command, TrainCommand& options) {
  const std::string group = "Run";
  command
      .add_option("-o,--output", options.output,
                  "the run's directory (default: runs/ and the recipe's name)")
      ->type_name("DIR")
      ->group(group);
  CLI::Option* const resume =
      command
          .add_flag("--resume", options.resume,
                    "continue the run from its newest checkpoint; needs no recipe")
          ->group(group);
  command.add_flag("--force", options.force, "replace an existing run and start over")
      ->excludes(resume)
      ->group(group);
  command
      .add_flag(
          "--distributed", options.distributed,
          "join the processes, on one or more machines, that mpirun or srun started to train one "
          "model; needs residual-mpi")
      ->group(group);
  CLI::Option* const launcher =
      command
          .add_option("--launcher", options.launcher,
                      "start the processes with this command, such as \"mpirun -n 4\", and wait")
          ->type_name("COMMAND")
          ->group(group);
  command
      .add_option("--max-restarts", options.max_restarts,
                  "with --launcher: resume this many times from the last checkpoint when a process "
                  "or machine is lost")
      ->check(whole(0, 1'000'000))
      ->needs(launcher)
      ->type_name("N")
      ->group(group);
  command
      .add_option_function<std::string>(
          "--probe",
          [&options](const std::string& value) { options.probe_every = parse_every(value); },
          "every=N: after every N-th update record each block's gradient and change in "
          "metrics.jsonl, and warn when gradients vanish or representations collapse")
      ->type_name("every=N")
      ->group(group);
  const auto others = command.get_options([](CLI::Option*) { return true; });
  CLI::Option* const replay =
      command
          .add_option("--replay", options.replay,
                      "repeat the update at which a run stopped, from the directory that it wrote, "
                      "and print every block's numbers; no other option is allowed")
          ->type_name("DIR")
          ->group(group);
  for (CLI::Option* const other : others) replay->excludes(other);
}

}  // namespace

fs::path output_of(const TrainCommand& command) {
  return command.output.empty() ? fs::path("runs") / command.recipe.stem() : command.output;
}

run::RunDirectory open_run(const TrainCommand& command) {
  const fs::path output = output_of(command);
  const bool changed =
      !command.recipe.empty() || !command.settings.empty() || !command.data.empty();
  if (!changed || !fs::exists(output / run::kRunConfig)) {
    return run::RunDirectory::resume(output, nullptr);
  }
  const run::TrainConfig config = read_recipe(command);
  return run::RunDirectory::resume(output, &config);
}

run::TrainConfig read_recipe(const TrainCommand& command) {
  run::TrainConfig config;
  const bool own = command.resume && command.recipe.empty();
  const fs::path recipe = own ? command.output / run::kRunConfig : command.recipe;
  if (!recipe.empty()) read_recipe_file<data::Recipe>(recipe, config, "train", "prepare");
  if (!command.data.empty()) config.data.prepared = command.data;
  check_typed([&] { apply_settings<run::TrainConfig>(command.settings, config); });
  return config;
}

void require_corpus(const TrainCommand& command, const run::TrainConfig& config) {
  const fs::path prepared = config.data.prepared;
  const bool is_relative = !prepared.empty() && prepared.is_relative();
  require(!command.resume || !is_relative || fs::exists(prepared),
          "{}: no such directory; the run names its corpus by a relative path and was started in "
          "another directory; give the corpus with --data DIR",
          prepared.string());
}

void add_train(CLI::App& root, std::function<void(const TrainCommand&)> train) {
  CLI::App* command =
      add_command(root, "train", "Train a model on a prepared corpus according to a recipe",
                  {"residual train recipes/iwslt14-resi-dual.toml --output runs/iwslt14",
                   "# continue after a stop, a kill or a crash of the machine",
                   "residual train --resume --output runs/iwslt14", "# another depth",
                   "residual train recipes/iwslt14-resi-dual.toml \\",
                   "  --set model.encoder_layers=12 --set model.decoder_layers=12 -o runs/deep",
                   "# every key of a recipe", "residual train --explain"});
  auto options = std::make_shared<TrainCommand>();
  add_recipe_options(*command, *options);
  add_run_options(*command, *options);
  command->callback([options, train = std::move(train)] { run(*options, train); });
}

}  // namespace residual::cli
