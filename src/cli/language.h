#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace residual::cli {

// --lang: the language whose rules a text tool follows.
void add_language_option(CLI::App& command, std::string& language);

// Warns, once per call, of a language that no tool knows: `instead` says which rules it gets.
void warn_of_unknown_language(const std::string& language, const std::string& instead);

}  // namespace residual::cli
