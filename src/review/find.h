#pragma once

#include <map>
#include <string>

#include "base/files.h"

namespace residual::review {

// The run directories in a directory and in what it holds, down to three levels, by their path
// relative to it; "." if it is a run itself. Does not follow links.
std::map<std::string, fs::path> find_runs(const fs::path& directory);

// Changes whenever the files that a report of the run is made from do.
std::string stamp_of(const fs::path& run);

}  // namespace residual::review
