#pragma once

#include <vector>

#include "study/work.h"

namespace residual::study {

// Trains and scores the remaining cells, several at once, and shows the progress. A cell that fails
// for a technical reason does not affect the others. SIGINT and SIGTERM stop the runs after their
// current update. Returns an exit code: 0 all is done, 1 some failed, 128 + signal.
int run(const Plan& plan, const std::vector<Work>& work, const RunnerOptions& options);

}  // namespace residual::study
