#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "decode/language/generator.h"

// Options shared by the commands that run a language or masked model.
namespace residual::cli {

struct TextModelOptions {
  std::vector<fs::path> models;
  decode::GeneratorOptions generator;
};

// Adds --model, --precision, --language and --pieces. `several`: --model may be repeated.
void add_text_model_options(CLI::App& command, TextModelOptions& options, bool several);
// Adds the options of the search, without those for translations.
void add_text_search_options(CLI::App& command, decode::GeneratorOptions& options);
// Throws a usage error if the search options contradict each other.
void check_text_search(const decode::GeneratorOptions& options);

}  // namespace residual::cli
