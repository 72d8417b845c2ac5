#pragma once

#include <string_view>
#include <vector>

#include "base/files.h"

namespace residual {

// Returns the directories of the control group that limits this process by `controller` ("cpu",
// "memory"), and of its ancestors, innermost first. In a container the directories may not exist.
// `list` has lines of "number:controllers:path"; version 2 of control groups names no controllers
// there, version 1 has a tree below `root` for each controller.
std::vector<fs::path> control_groups(std::string_view controller,
                                     const fs::path& list = "/proc/self/cgroup",
                                     const fs::path& root = "/sys/fs/cgroup");

// Returns the smallest number of cores, rounded up, that the quotas of these groups allow, or the
// largest integer if no group has a quota.
int cores_of_groups(const std::vector<fs::path>& groups);

}  // namespace residual
