#pragma once

#include <string_view>
#include <vector>

#include "base/files.h"

namespace residual {

// The directories of the control group that limits this process by `controller` ("cpu", "memory"),
// and of those around it, inner ones first. In a container the paths may be those of another place:
// directories need not exist. `list` has lines of "number:controllers:path"; version 2 of control
// groups has no controllers there, version 1 a tree below `root` for each.
std::vector<fs::path> control_groups(std::string_view controller,
                                     const fs::path& list = "/proc/self/cgroup",
                                     const fs::path& root = "/sys/fs/cgroup");

// The least number of cores, rounded up, that these groups' quotas allow; the largest number if
// there is none.
int cores_of_groups(const std::vector<fs::path>& groups);

}  // namespace residual
