// residual probe: why a deep model trains or fails, block by block; the paper's theorems and
// figures.

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
                  "what is written: html (one page with all charts), csv and svg (a file for each "
                  "figure), json (everything)")
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
  command.add_option("--seed", seed, "of everything that is random")
      ->check(not_negative())
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
}

void add_model_options(CLI::App& command, probe::ModelOptions& o) {
  const std::string group = "Model";
  command
      .add_option("subjects", o.subjects,
                  "models, runs, checkpoints or recipes (.toml); without any, a model of "
                  "the size the paper trains on IWSLT, at initialisation")
      ->type_name("MODEL")
      ->transform(installed_recipe)
      ->group(group);
  command
      .add_option("--scheme,--compare", o.schemes,
                  "residual schemes to put side by side, as NAME or NAME:VARIANT")
      ->delimiter(',')
      ->type_name("LIST")
      ->group(group);
  command.add_option("--layers", o.layers, "layers of each stack, instead of what is configured")
      ->check(whole(1, 1000))
      ->type_name("L")
      ->group(group);
  command
      .add_option("--set", o.settings,
                  "overrule a key of the recipe, such as model.width=128; several times")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE")
      ->group(group);
  command.add_flag("--at-initialisation", o.at_initialisation, "as it was before training")
      ->group(group);
  command
      .add_option("--seed", o.seed,
                  "of everything that is random (default: 1, but train.seed of a run or recipe for "
                  "its first weights)")
      ->check(not_negative())
      ->type_name("N")
      ->group(group);
}

void add_text_options(CLI::App& command, probe::ModelOptions& o) {
  const std::string group = "Text";
  CLI::Option* const text =
      command.add_option("--text", o.text, "raw sentences, segmented as the model does")
          ->check(CLI::ExistingFile)
          ->type_name("FILE")
          ->group(group);
  command.add_option("--translation", o.translation, "their translations, line by line")
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
  command.add_option("--data", o.data, "prepared corpus; its dev split is probed on")
      ->type_name("DIR")
      ->group(group);
  command
      .add_option("--tokens", o.tokens,
                  "tokens to probe on, at most, on each side; but always one sentence at least")
      ->check(whole(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
}

void add_theory(CLI::App& parent, const std::shared_ptr<ProbeCommand>& o, const Run& run) {
  CLI::App* command = add_command(
      parent, "theory", "the paper's theorems: as printed, as they follow, as simulated",
      {"residual probe theory -o theory", "residual probe theory --blocks 100 -o theory"});
  const std::string group = "Simulation";
  command->add_option("--blocks", o->theory.blocks, "of the simulated stacks")
      ->check(whole(4, 1000))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command->add_option("--width", o->theory.width, "of the simulated streams")
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
      parent, "adam", "the condition number of Adam's update: theorem 3.2, figure 3",
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
  add_number("--parameters", setting.parameters, whole(1, 10'000'000), "how many");
  add_number("--learning-rate", setting.learning_rate, between(0, 1), "alpha");
  add_number("--beta1", setting.beta1, between(0, 0.9999999), "decay of the mean");
  add_number("--beta2", setting.beta2, between(0, 0.9999999), "decay of the square");
  add_number("--epsilon", setting.epsilon, between(1e-30, 1), "added to the root");
  add_number("--steps", o->adam.steps, whole(1, 100'000), "how far the simulation goes");
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
       "# a trained model on text of your own",
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
