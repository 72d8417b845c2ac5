#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace residual::cli {

// Adds --lang, the language whose rules a text tool applies.
void add_language_option(CLI::App& command, std::string& language);

// Warns about a language without a list of abbreviations; `instead` names the rules used instead.
void warn_of_unknown_language(const std::string& language, const std::string& instead);

}  // namespace residual::cli
