// residual probe: measures why a deep model trains or fails, block by block, and reproduces the
// paper's theorems and figures.

#include "cli/probe.h"

#include <memory>
#include <utility>

#include "cli/command.h"
#include "run/config.h"

namespace residual::cli {
namespace {

using Run = std::function<void(const ProbeCommand&)>;

CLI::Option* add_output(CLI::App& command, ProbeCommand& o) {
  const std::string group = "Output";
  command
      .add_option("--format", o.formats,
                  "output formats: html (one page with all charts), csv and svg (one file per "
                  "figure), json (all data)")
      ->delimiter(',')
      ->check(CLI::IsMember({"html", "csv", "json", "svg"}))
      ->type_name("LIST")
      ->capture_default_str()
      ->group(group);
  return command.add_option("-o,--output", o.output, "directory for the report")
      ->type_name("DIR")
      ->group(group);
}

void add_seed(CLI::App& command, int64_t& seed, const std::string& group) {
  command.add_option("--seed", seed, "random seed")
      ->check(not_negative())
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
}

void add_model_options(CLI::App& command, probe::SubjectOptions& o) {
  const std::string group = "Model";
  command
      .add_option("subjects", o.subjects,
                  "models, runs, checkpoints or recipes (.toml); default: a model of the paper's "
                  "IWSLT size at initialisation")
      ->type_name("MODEL")
      ->transform(installed_recipe)
      ->group(group);
  command
      .add_option("--scheme,--compare", o.schemes,
                  "residual schemes to compare, as NAME or NAME:VARIANT")
      ->delimiter(',')
      ->type_name("LIST")
      ->group(group);
  command.add_option("--layers", o.layers, "layers of each stack; overrides the configuration")
      ->check(whole(1, 1000))
      ->type_name("L")
      ->group(group);
  command
      .add_option("--set", o.settings,
                  "override a key of the recipe, such as model.width=128; repeatable")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE")
      ->group(group);
  command
      .add_flag("--at-initialisation", o.at_initialisation,
                "probe the model as it was before training")
      ->group(group);
  command
      .add_option(
          "--seed", o.seed,
          "random seed (default: 1, except that initial weights use train.seed of a run or recipe)")
      ->check(not_negative())
      ->type_name("N")
      ->group(group);
}

void add_text_options(CLI::App& command, probe::SubjectOptions& o) {
  const std::string group = "Text";
  CLI::Option* const text =
      command.add_option("--text", o.text, "raw sentences, which the model segments")
          ->check(CLI::ExistingFile)
          ->type_name("FILE")
          ->group(group);
  command.add_option("--translation", o.translation, "translations of --text, line by line")
      ->needs(text)
      ->check(CLI::ExistingFile)
      ->type_name("FILE")
      ->group(group);
  command.add_option("--from", o.from, "source language, if the model has several")
      ->needs(text)
      ->type_name("LANG")
      ->group(group);
  command.add_option("--to", o.to, "target language, if the model has several")
      ->needs(text)
      ->type_name("LANG")
      ->group(group);
  command.add_option("--data", o.data, "prepared corpus; the probe uses its dev split")
      ->type_name("DIR")
      ->group(group);
  command
      .add_option("--tokens", o.tokens,
                  "maximum number of tokens on each side; at least one sentence is always used")
      ->check(whole(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
}

void add_theory(CLI::App& parent, const std::shared_ptr<ProbeCommand>& o, const Run& run) {
  CLI::App* command = add_command(
      parent, "theory", "compare the paper's theorems as printed, as derived and as simulated",
      {"residual probe theory -o theory", "residual probe theory --blocks 100 -o theory"});
  const std::string group = "Simulation";
  command->add_option("--blocks", o->theory.blocks, "blocks of the simulated stacks")
      ->check(whole(4, 1000))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command->add_option("--width", o->theory.width, "width of the simulated streams")
      ->check(whole(8, 4096))
      ->capture_default_str()
      ->type_name("D")
      ->group(group);
  add_seed(*command, o->theory.seed, group);
  add_output(*command, *o)->required();
  command->callback([o, run] {
    o->what = ProbeCommand::What::theory;
    run(*o);
  });
}

void add_adam(CLI::App& parent, const std::shared_ptr<ProbeCommand>& o, const Run& run) {
  CLI::App* command = add_command(
      parent, "adam", "compute the condition number of Adam's update: theorem 3.2, figure 3",
      {"residual probe adam", "residual probe adam --epsilon 1e-8 --parameters 4096 -o adam"});
  const std::string group = "Simulation";
  const auto add_number = [&](const char* name, auto& value, const CLI::Validator& range,
                              const char* meaning) {
    command->add_option(name, value, meaning)
        ->check(range)
        ->capture_default_str()
        ->type_name("N")
        ->group(group);
  };
  probe::AdamSetting& setting = o->adam.setting;
  add_number("--parameters", setting.parameters, whole(1, 10'000'000), "number of parameters");
  add_number("--learning-rate", setting.learning_rate, between(0, 1), "learning rate alpha");
  add_number("--beta1", setting.beta1, between(0, 0.9999999), "decay rate of the mean");
  add_number("--beta2", setting.beta2, between(0, 0.9999999), "decay rate of the squared gradient");
  add_number("--epsilon", setting.epsilon, between(1e-30, 1), "constant added to the square root");
  add_number("--steps", o->adam.steps, whole(1, 100'000), "steps of the simulation");
  add_number("--draws", o->adam.draws, whole(1, 10'000), "simulations whose mean is shown");
  add_number("--warmup", o->adam.warmup, whole(1, 20'000),
             "updates of a linear warm-up, shown beside the constant rate");
  add_seed(*command, o->adam.seed, group);
  add_output(*command, *o);
  command->callback([o, run] {
    o->what = ProbeCommand::What::adam;
    run(*o);
  });
}

}  // namespace

void add_probe(CLI::App& root, Run run) {
  CLI::App* command = add_command(
      root, "probe", "Measure gradients, representations and attention, block by block",
      {"# figure 2 of the paper, at initialisation",
       "residual probe --compare post-ln,pre-ln,resi-dual --layers 18 -o report",
       "# a trained model on your own text",
       "residual probe runs/iwslt14 --text dev.de --translation dev.en -o report",
       "# before and after training", "residual probe runs/iwslt14 --at-initialisation -o before"});
  auto options = std::make_shared<ProbeCommand>();
  add_model_options(*command, options->models);
  add_text_options(*command, options->models);
  add_output(*command, *options);
  add_theory(*command, options, run);
  add_adam(*command, options, run);
  command->require_subcommand(0, 1);
  command->callback([command, options, run = std::move(run)] {
    if (!command->get_subcommands().empty()) return;
    if (options->output.empty()) throw CLI::RequiredError("--output");
    check_typed([&] {
      run::TrainConfig any;
      apply_settings<run::TrainConfig>(options->models.settings, any);
    });
    run(*options);
  });
}

}  // namespace residual::cli
