#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/flags.h"
#include "decode/translator.h"

// Options shared by the commands that run a model.
namespace residual::cli {

struct ModelOptions {
  std::vector<fs::path> models;
  bool average = false;  // average the parameters instead of using an ensemble
  decode::TranslatorOptions translator;
};

// Adds --model, --average, --precision, --from, --to and --pieces.
void add_model_options(CLI::App& command, ModelOptions& options);
// Adds the options for the search, the shortlist, sampling and batches.
void add_search_options(CLI::App& command, decode::TranslatorOptions& options);
// Flags of the translator's fields in further groups, "Lines" and "Output".
Flags add_translator_flags(CLI::App& command, decode::TranslatorOptions& options,
                           const std::vector<std::string>& groups);
// Throws a usage error if the options contradict each other.
void check_search(const ModelOptions& options);

std::unique_ptr<decode::Translator> load_translator(const ModelOptions& options);

// An option that takes one of several names, each standing for a value.
template <class Value>
CLI::Option* add_choice(CLI::App& command, const std::string& flag, Value& value,
                        const std::vector<std::pair<std::string, Value>>& names,
                        const std::string& what) {
  std::vector<std::string> known;
  std::string chosen;
  for (const auto& [name, each] : names) {
    known.push_back(name);
    if (each == value) chosen = name;
  }
  const auto set = [&value, names](const std::string& given) {
    for (const auto& [name, each] : names) {
      if (name == given) value = each;
    }
  };
  return command.add_option_function<std::string>(flag, set, what)
      ->check(CLI::IsMember(known))
      ->default_str(chosen)
      ->type_name("NAME");
}

}  // namespace residual::cli
