#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "decode/language/generator.h"
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

// The kind of the first model. Models whose parameters are averaged must be for translation.
model::Kind kind_of(const ModelOptions& options);
// A language model with the usual search; --to is its language.
std::unique_ptr<decode::Generator> load_generator(const ModelOptions& options);
std::unique_ptr<decode::Translator> load_translator(const ModelOptions& options);

}  // namespace residual::cli
