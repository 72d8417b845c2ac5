#pragma once

#include <CLI/CLI.hpp>

namespace residual::cli {

// --help and --version of a root command, in our layout: summary, usage, commands or options by
// group with their defaults, examples. Commands added afterwards inherit it.
void set_up_help(CLI::App& root);

}  // namespace residual::cli
