#pragma once

#include <vector>

#include "study/work.h"

namespace residual::study {

// Trains and scores what is left to be done, several runs at once, showing how far all of it is. A
// cell that fails for another reason than its numbers leaves the others alone. SIGINT and SIGTERM
// stop the runs after their update. Returns an exit code: 0 all is done, 1 some failed, 128 +
// signal.
int run(const Plan& plan, const std::vector<Work>& work, const RunnerOptions& options);

}  // namespace residual::study
