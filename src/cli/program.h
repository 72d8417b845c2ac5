#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace residual::cli {

// The whole of a program: parses the line, runs one sub-command, turns errors into exit codes: 0
// done, 1 failed, 2 wrong usage, or what a command asked for with CLI::RuntimeError. Results go to
// standard output, everything else to standard error.
int run_program(int argc, char** argv, const std::function<void(CLI::App&)>& add_commands) noexcept;

}  // namespace residual::cli
