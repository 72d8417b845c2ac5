#pragma once

#include <map>
#include <string>
#include <vector>

#include "study/findings.h"

// Finished runs as comma-separated values, a line for each: what it was trained as and its result.
// Such files outlive the runs: they are small, can be kept in a repository, and merge results of
// several machines.
namespace residual::study {

std::string runs_csv(const Findings& findings);

// Reads files that runs_csv() wrote. Two files may have the same run only with the same result.
KnownRuns read_runs_csv(const std::vector<fs::path>& files);

}  // namespace residual::study
