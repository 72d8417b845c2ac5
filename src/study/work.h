#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/evaluate.h"
#include "study/plan.h"

// What is left to be done of a study. DIR holds
//
//   runs/NAME/                a run directory, as `residual train` makes it
//   results/PLAN/NAME.toml    what was found: the cell is done
//   results/PLAN/NAME.*.txt   its translations of the test sets
//   logs/NAME.log             what `residual train` said
//
// and may be shared by plans: cells of the same name and configuration are then trained once, and
// scored as each plan says.
namespace residual::study {

struct RunnerOptions {
  fs::path output;   // DIR
  int jobs = 1;      // runs side by side
  fs::path program;  // `residual`; tests put a script in its place
};

enum class Action { nothing, start, resume };

struct Work {
  Cell cell;
  Action action = Action::start;
  std::vector<std::string> command;  // that starts or resumes it
  double size = 0;                   // of the whole run, in a unit common to all
  double done = 0;                   // share of it, 0 to 1
};

fs::path run_directory(const fs::path& output, const Cell& cell);
fs::path result_file(const fs::path& output, const Plan& plan, const Cell& cell);
fs::path log_file(const fs::path& output, const Cell& cell);

// What was found about a cell, unless that is not there or of another plan.
std::optional<Result> load_result(const Plan& plan, const Cell& cell, const fs::path& output);

// The command that starts a cell, or resumes what there is of it by now.
std::vector<std::string> command_of(const Plan& plan, const Cell& cell,
                                    const RunnerOptions& options);

// The share of a run that is done, by the latest update it recorded.
double share_done(const Cell& cell, const fs::path& output);

// Looks at what DIR holds. Runs that were made with another configuration are an Error, which lists
// them and the keys that differ.
std::vector<Work> look(const Plan& plan, const RunnerOptions& options);

// A command as one would type it in a shell.
std::string shell_line(const std::vector<std::string>& command);

}  // namespace residual::study
