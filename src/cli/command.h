#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/error.h"
#include "text/lines.h"

// A command is one file: a struct of options, a function that binds them to flags, and one call
// into the library. `add_<command>(app)` is all that main sees of it.
namespace residual::cli {

// A sub-command with its one-line summary and examples. An example is a command line, with a
// comment line ("# ...") before it if it needs one; every one of them must work.
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& summary,
                      const std::vector<std::string>& examples = {});

// A command that is only a family of commands: `residual bpe learn`, `residual bpe apply`.
CLI::App* add_group(CLI::App& parent, const std::string& name, const std::string& summary);

// [INPUT], --output, --replace-invalid: what all commands that turn lines into lines take.
void add_line_options(CLI::App& command, text::TransformLines& files);

// --replace-invalid, for commands whose files are no TransformLines.
void add_replace_invalid(CLI::App& command, text::Invalid& invalid, const std::string& group);

// Calls what fails only because of what was typed: its Error is wrong usage.
template <class Body>
void check_typed(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
}

// Checks of a number: greater than 0, at least 0; and below 2^63. CLI11's own print the largest
// double.
CLI::Validator positive();
CLI::Validator not_negative();
// At least `low` and at most `high`. CLI::Range would take "nan" as well.
CLI::Validator between(double low, double high);
// The same of a whole number.
CLI::Validator whole(int64_t low, int64_t high);

// In the range of a field.
CLI::Validator in_range(Range range, bool is_whole);

// Fails if standard input (-) is more than one of them: it can be read only once.
void check_standard_input(const std::vector<fs::path>& inputs);

// A transformation of an option that names a recipe: one that is not there as given is looked for
// among what was installed with the program, so that "recipes/debian.toml" works anywhere.
std::string installed_recipe(const std::string& path);

// Becomes another program of ours, with the same arguments: one that needs libraries which this one
// is better without. Returns only by throwing, with `remedy` if there is no such program.
[[noreturn]] void run_beside(const std::string& program, const std::string& remedy, char** argv);

// The script by which "bash", "zsh" or "fish" completes command lines.
std::string completion_script(const CLI::App& root, const std::string& shell);

// --share DIR, hidden: writes manual pages and completions as they are installed below share/.
void add_share(CLI::App& root);
// --option-tables FILE..., hidden: writes the tables of options in pages of the manual.
void add_option_tables(CLI::App& root);

std::string library_versions();  // "CLI11 2.1.2, fmt 9.1.0, ..."
// --version. `more` gives further lines of it.
void add_version(CLI::App& root, const std::function<std::string()>& more = nullptr);

void add_average(CLI::App& root);
void add_bpe(CLI::App& root);
void add_completions(CLI::App& root);
void add_corpus(CLI::App& root);
void add_detokenize(CLI::App& root);
void add_doctor(CLI::App& root);
void add_evaluate(CLI::App& root);
void add_export(CLI::App& root);
void add_fetch(CLI::App& root);
void add_import_fairseq(CLI::App& root);
void add_import_marian(CLI::App& root);
void add_info(CLI::App& root);
void add_normalize(CLI::App& root);
void add_prepare(CLI::App& root);
void add_schemes(CLI::App& root);
void add_score(CLI::App& root);
void add_score_pairs(CLI::App& root);
void add_sentencepiece(CLI::App& root);
void add_shortlist(CLI::App& root);
void add_study(CLI::App& root);
void add_tokenize(CLI::App& root);
void add_translate(CLI::App& root);
void add_verify(CLI::App& root);
void add_vocabulary(CLI::App& root);

}  // namespace residual::cli
