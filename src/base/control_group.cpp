#include "base/control_group.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

namespace residual {
namespace {

// "cpu,cpuacct" has "cpu".
bool has(std::string_view controllers, std::string_view controller) {
  while (!controllers.empty()) {
    const size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == controller) return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

// Reads the microseconds of CPU time per period, and the period. Without a quota, version 2 has
// "max", which is not a number, and version 1 has -1.
bool read_quota(const fs::path& group, double& quota, double& period) {
  std::ifstream both(group / "cpu.max");
  if (both >> quota >> period) return true;
  std::ifstream one(group / "cpu.cfs_quota_us"), other(group / "cpu.cfs_period_us");
  return one >> quota && other >> period;
}

}  // namespace

std::vector<fs::path> control_groups(std::string_view controller, const fs::path& list,
                                     const fs::path& root) {
  std::vector<fs::path> groups;
  std::ifstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (!controllers.empty() && !has(controllers, controller)) continue;
    const fs::path tree = controllers.empty() ? root : root / controller;
    for (fs::path path = fs::path(line.substr(second + 1)).relative_path();;
         path = path.parent_path()) {
      groups.push_back(path.empty() ? tree : tree / path);
      if (path.empty()) break;
    }
  }
  return groups;
}

int cores_of_groups(const std::vector<fs::path>& groups) {
  double least = std::numeric_limits<int>::max();
  for (const auto& group : groups) {
    double quota = 0, period = 0;
    if (!read_quota(group, quota, period) || quota <= 0 || period <= 0) continue;
    least = std::min(least, std::max(1.0, std::ceil(quota / period)));
  }
  return static_cast<int>(least);
}

}  // namespace residual
