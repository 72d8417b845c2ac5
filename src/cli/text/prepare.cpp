// residual prepare: turns raw parallel or running text into a binary corpus for training.

#include "data/prepare.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/process.h"
#include "cli/command.h"
#include "cli/language.h"
#include "cli/recipe.h"
#include "data/recipe.h"
#include "fetch/sources.h"
#include "model/directory.h"
#include "run/config.h"

namespace residual::cli {
namespace {

struct Options {
  fs::path recipe;
  std::string data, source_language, target_language, language, like;
  std::vector<std::string> train, dev, test, settings;
  data::PrepareOptions prepare;
  bool explain = false;
};

// Reads the recipe file, then the options, then --set; each overrides the previous ones.
data::Recipe resolve(const Options& options) {
  data::Recipe recipe;
  if (!options.recipe.empty()) {
    read_recipe_file<run::TrainConfig>(options.recipe, recipe, "prepare", "train");
  } else if (!options.train.empty()) {
    recipe.dev = recipe.test = {};
  }
  if (options.source_language.empty() != options.target_language.empty()) {
    throw CLI::ValidationError("--source-lang and --target-lang must be given together");
  }
  if (!options.source_language.empty()) {
    recipe.pairs = {options.source_language + "-" + options.target_language};
  }
  if (!options.language.empty()) {
    recipe.language = options.language;
    recipe.pairs = {};
  }
  if (!options.data.empty()) recipe.data = options.data;
  if (!options.train.empty()) recipe.train = options.train;
  if (!options.dev.empty()) recipe.dev = options.dev;
  if (!options.test.empty()) recipe.test = options.test;
  if (!options.like.empty()) recipe.like = options.like;
  check_typed([&] { apply_settings<data::Recipe>(options.settings, recipe); });
  return recipe;
}

void warn_of_languages(const data::Recipe& recipe) {
  if (recipe.text.tokenizer != data::TokenizerKind::moses) return;
  std::set<std::string> languages;
  for (const auto& pair : data::language_pairs(recipe))
    languages.insert({pair.source, pair.target});
  for (const auto& language : languages) {
    warn_of_unknown_language(language, "English abbreviations");
  }
}

// Reads the segmentation of a model, a bundle or a run. The result is empty for a prepared
// directory, which prepare() reads itself.
std::optional<data::Like> like_model(const fs::path& path) {
  if (path.empty()) return {};
  if (fs::exists(path / "prepared.toml")) return {};
  const auto model = std::make_shared<const model::Directory>(model::Directory::open(path));
  const model::Description& description = model->description();
  data::Like like{.place = model->path().string(),
                  .read = [model](const std::string& file) { return model->read(file); }};
  for (const auto& direction : description.directions) {
    like.vocabularies[direction.source] = description.source_vocabulary;
    like.vocabularies[direction.target] = description.target_vocabulary;
    like.language_tags |= !direction.source_tag.empty();
  }
  return like;
}

// If a recipe's text is missing and its directory is named after a source (data/iwslt14,
// data/debian-en-de), the message names the command that downloads it.
void require_text(const data::Recipe& recipe) {
  if (recipe.data.empty() || fs::exists(recipe.data)) return;
  const std::string name = fs::path(recipe.data).filename().string();
  for (const fetch::Source& source : fetch::sources()) {
    const std::string known(source.name);
    if (name != known && !name.starts_with(known + "-")) continue;
    std::string command = "residual fetch " + known;
    if (recipe.pairs != source.pairs) {
      for (const auto& pair : recipe.pairs) command += " --pair " + pair;
    }
    fail(
        "{}: does not exist; download it with `{} --output {}`, or give the directory of the text "
        "with --data",
        recipe.data, command, shell_word(recipe.data));
  }
}

void run(Options options) {
  const data::Recipe recipe = resolve(options);
  if (options.explain) {
    fmt::print("{}", explain_config(recipe));
    return;
  }
  if (options.prepare.output.empty()) throw CLI::RequiredError("--output");
  require_text(recipe);
  options.prepare.like = like_model(recipe.like);
  if (recipe.like.empty()) warn_of_languages(recipe);
  fmt::print("{}", data::summary(data::prepare(recipe, options.prepare)));
}

void add_input_options(CLI::App& command, Options& options) {
  const std::string group = "Input";
  command.add_option("recipe", options.recipe, "recipe, a TOML file; see --explain")
      ->type_name("RECIPE")
      ->transform(installed_recipe)
      ->group(group);
  command.add_option("--data", options.data, "directory of the text; overrides the recipe")
      ->type_name("DIR")
      ->group(group);
  command
      .add_option("--source-lang", options.source_language,
                  "source language; overrides the recipe's pairs")
      ->type_name("LANG")
      ->group(group);
  command
      .add_option("--target-lang", options.target_language,
                  "target language; overrides the recipe's pairs")
      ->type_name("LANG")
      ->group(group);
  command
      .add_option(
          "--language", options.language,
          "language of running text, whose documents empty lines separate; instead of pairs")
      ->type_name("LANG")
      ->group(group);
  const auto add_split = [&](const char* name, std::vector<std::string>& names, const char* what) {
    command.add_option(name, names, what)->type_name("NAME")->group(group);
  };
  add_split("--train", options.train,
            "training text: NAME.<source> and NAME.<target>, or NAME.tsv with two columns; several "
            "names are concatenated");
  add_split("--dev", options.dev, "validation text, named like --train");
  add_split("--test", options.test, "test text, named like --train");
  add_replace_invalid(command, options.prepare.invalid, group);
  command
      .add_option("--like", options.like,
                  "reuse the segmentation and vocabulary of this prepared directory, model or run")
      ->type_name("PATH")
      ->group(group);
}

void add_recipe_options(CLI::App& command, Options& options) {
  const std::string group = "Recipe";
  command.add_option("--set", options.settings, "override a key of the recipe; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_flag("--explain", options.explain,
                "print the resulting recipe, every key with its meaning, and exit")
      ->group(group);
}

void add_output_options(CLI::App& command, Options& options) {
  const std::string group = "Output";
  command.add_option("-o,--output", options.prepare.output, "directory to create")
      ->type_name("DIR")
      ->group(group);
  command
      .add_flag("--force", options.prepare.force,
                "replace the directory if it is empty or holds a previous result")
      ->group(group);
  command
      .add_flag("--keep-text", options.prepare.keep_text,
                "also write the segmented text: train.<lang>, dev.<lang>, test.<lang>")
      ->group(group);
}

}  // namespace

void add_prepare(CLI::App& root) {
  CLI::App* command = add_command(
      root, "prepare", "Clean, tokenise, segment and binarise text according to a recipe",
      {"residual fetch debian --pair en-de --output data/debian-en-de",
       "residual prepare recipes/debian.toml --output prepared/debian-en-de",
       "# your own text.en and text.de, every 100th line for validation",
       "residual prepare --source-lang en --target-lang de --train text \\",
       "  --set split.dev_every=100 -o prepared/own", "# more text for an existing model",
       "residual prepare --source-lang en --target-lang de --train more --like runs/own -o "
       "prepared/more",
       "# running text for a language model, every 100th document for test",
       "residual prepare --language en --train text --set split.test_every=100 -o prepared/text",
       "# every key of a recipe", "residual prepare --explain"});
  auto options = std::make_shared<Options>();
  add_input_options(*command, *options);
  add_recipe_options(*command, *options);
  add_output_options(*command, *options);
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
