#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/error.h"
#include "text/lines.h"

// Each command is one file: a struct of options, a function that binds them to flags, and one call
// into the library. Its interface is `add_<command>(app)`.
namespace residual::cli {

// Adds a sub-command with its one-line summary and examples. An example is a command line, with an
// optional comment line ("# ...") before it; every example must work.
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& summary,
                      const std::vector<std::string>& examples = {});

// Adds a command that only groups other commands: `residual bpe learn`, `residual bpe apply`.
CLI::App* add_group(CLI::App& parent, const std::string& name, const std::string& summary);

// Adds [INPUT], --output and --replace-invalid, the options of all commands that transform lines.
void add_line_options(CLI::App& command, text::TransformLines& files);

// Adds --replace-invalid, for commands that do not use TransformLines.
void add_replace_invalid(CLI::App& command, text::Invalid& invalid, const std::string& group);

// Calls `body` and reports its Error as wrong usage (exit code 2).
template <class Body>
void check_typed(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
}

// Validators for a number greater than 0, or at least 0, and below 2^63. The messages of CLI11's
// validators print the largest double.
CLI::Validator positive();
CLI::Validator not_negative();
// A validator for a number from `low` to `high`. CLI::Range would accept "nan".
CLI::Validator between(double low, double high);
// A validator for a whole number from `low` to `high`.
CLI::Validator whole(int64_t low, int64_t high);

// In the range of a field.
CLI::Validator in_range(Range range, bool is_whole);

// Fails if standard input (-), which can be read only once, is given more than once.
void check_standard_input(const std::vector<fs::path>& inputs);

// Returns `path` if it exists, otherwise the recipe of that name installed with the program, so
// that "recipes/debian.toml" works in any directory. Options that name a recipe use it as a
// transformation.
std::string installed_recipe(const std::string& path);

// Fails if a recipe does not exist, with a suggestion from those beside it and the installed ones.
void require_recipe(const fs::path& file);

// Replaces this process by another program of the project, with the same arguments; that program
// links libraries that this one avoids. Throws on failure, with `remedy` in the message if the
// program is missing.
[[noreturn]] void run_beside(const std::string& program, const std::string& remedy, char** argv);

// Returns the completion script for "bash", "zsh" or "fish".
std::string completion_script(const CLI::App& root, const std::string& shell);

// Adds the hidden option --share DIR, which writes manual pages and completions for share/.
void add_share(CLI::App& root);
// --option-tables FILE..., hidden: writes the tables of options in pages of the manual.
void add_option_tables(CLI::App& root);

std::string library_versions();  // "CLI11 2.1.2, fmt 9.1.0, ..."
// Adds --version. `more` returns additional lines for its output.
void add_version(CLI::App& root, const std::function<std::string()>& more = nullptr);

void add_average(CLI::App& root);
void add_bpe(CLI::App& root);
void add_completions(CLI::App& root);
void add_corpus(CLI::App& root);
void add_detokenize(CLI::App& root);
void add_doctor(CLI::App& root);
void add_embed(CLI::App& root);
void add_evaluate(CLI::App& root);
void add_export(CLI::App& root);
void add_fetch(CLI::App& root);
void add_fill(CLI::App& root);
void add_generate(CLI::App& root);
void add_import_fairseq(CLI::App& root);
void add_import_hugging_face(CLI::App& root);
void add_import_marian(CLI::App& root);
void add_info(CLI::App& root);
void add_normalize(CLI::App& root);
void add_prepare(CLI::App& root);
void add_schemes(CLI::App& root);
void add_score(CLI::App& root);
void add_score_pairs(CLI::App& root);
void add_score_text(CLI::App& root);
void add_sentencepiece(CLI::App& root);
void add_sentences(CLI::App& root);
void add_shortlist(CLI::App& root);
void add_report(CLI::App& root);
void add_study(CLI::App& root);
void add_tokenize(CLI::App& root);
void add_translate(CLI::App& root);
void add_verify(CLI::App& root);
void add_vocabulary(CLI::App& root);

}  // namespace residual::cli
