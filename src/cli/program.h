#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace residual::cli {

// Runs a program: parses the command line, runs one sub-command and turns errors into exit codes: 0
// done, 1 failed, 2 wrong usage, or the code that a command throws as CLI::RuntimeError. Results go
// to standard output, everything else to standard error.
int run_program(int argc, char** argv, const std::function<void(CLI::App&)>& add_commands) noexcept;

}  // namespace residual::cli
