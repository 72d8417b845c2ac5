#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/evaluate.h"
#include "study/plan.h"

// The remaining work of a study. DIR holds
//
//   runs/NAME/                a run directory, as `residual train` makes it
//   results/PLAN/NAME.toml    the result of a finished cell
//   results/PLAN/NAME.*.txt   its translations of the test sets
//   logs/NAME.log             the output of `residual train`
//
// and may be shared by several plans: cells of the same name and configuration are trained once and
// scored by each plan.
namespace residual::study {

struct RunnerOptions {
  fs::path output;   // DIR
  int jobs = 1;      // runs in parallel
  fs::path program;  // `residual`; tests replace it by a script
};

enum class Action { nothing, start, resume };

struct Work {
  Cell cell;
  Action action = Action::start;
  std::vector<std::string> command;  // starts or resumes the run
  double size = 0;                   // of the whole run, in a unit common to all runs
  double done = 0;                   // finished share, 0 to 1
};

fs::path run_directory(const fs::path& output, const Cell& cell);
fs::path result_file(const fs::path& output, const Plan& plan, const Cell& cell);
fs::path log_file(const fs::path& output, const Cell& cell);

// Reads the result of a cell; empty if it does not exist or is stale.
std::optional<Result> load_result(const Plan& plan, const Cell& cell, const fs::path& output);

// Returns the command that starts a cell, or resumes its run if it exists.
std::vector<std::string> command_of(const Plan& plan, const Cell& cell,
                                    const RunnerOptions& options);

// Returns the finished share of a run, from its latest recorded update.
double share_done(const Cell& cell, const fs::path& output);

// Determines the remaining work from the content of DIR. Throws an Error that lists the runs made
// with another configuration and the differing keys.
std::vector<Work> look(const Plan& plan, const RunnerOptions& options);

// Formats a command for a shell.
std::string shell_line(const std::vector<std::string>& command);

}  // namespace residual::study
