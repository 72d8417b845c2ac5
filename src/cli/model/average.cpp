// residual average: makes a model whose parameters are the mean of several checkpoints.

#include "run/average.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/model/model_output.h"

namespace residual::cli {
namespace {

struct Options {
  std::vector<fs::path> inputs;
  run::CheckpointChoice choice;
  ModelOutput output;
};

void add_choice_options(CLI::App& command, run::CheckpointChoice& choice) {
  const std::string group = "Which checkpoints of a run (default: all)";
  const auto add_count = [&](const char* name, int64_t& count, const char* what) {
    command.add_option(name, count, what)->check(positive())->type_name("K")->group(group);
  };
  add_count("--last", choice.last, "average the K latest checkpoints");
  add_count("--best", choice.best, "average the K best checkpoints by validation");
  add_count("--epochs", choice.epochs, "average the K latest checkpoints at the end of an epoch");
  command
      .add_option("--updates", choice.updates,
                  "average the checkpoints of these updates: 1000,2000")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N,N")
      ->group(group);
}

}  // namespace

void add_average(CLI::App& root) {
  CLI::App* command =
      add_command(root, "average", "Average the parameters of checkpoints or models",
                  {"# the last ten epochs, as the WMT'14 rows are evaluated",
                   "residual average runs/wmt14 --epochs 10 -o models/wmt14",
                   "residual average runs/iwslt14 --updates 9000,10000 -o models/iwslt14",
                   "residual average models/seed-1 models/seed-2 -o models/mean"});
  auto options = std::make_shared<Options>();
  command->add_option("input", options->inputs, "runs, checkpoints, models")
      ->required()
      ->type_name("PATH")
      ->group("Input and output");
  options->output.add_to(*command, "DIR", "Input and output");
  add_choice_options(*command, options->choice);
  command->callback([options] {
    options->output.check();
    const fs::path& output = options->output.path;
    const auto made = run::average(options->inputs, options->choice, output);
    fmt::print("{}: {}\n", output.string(), made.origin);
  });
}

}  // namespace residual::cli
