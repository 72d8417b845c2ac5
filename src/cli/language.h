#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace residual::cli {

// --lang: the language whose rules a text tool follows.
void add_language_option(CLI::App& command, std::string& language);

// Warns of a language without abbreviations of its own; `instead` says what it gets.
void warn_of_unknown_language(const std::string& language, const std::string& instead);

}  // namespace residual::cli
