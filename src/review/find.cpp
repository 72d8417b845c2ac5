#include "review/find.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <system_error>

#include "review/records.h"
#include "run/run_directory.h"

namespace residual::review {
namespace {

constexpr int kDepth = 3;  // a study keeps its runs in STUDY/runs/NAME

bool is_run(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path / run::kRunConfig, ignored) &&
         (fs::is_regular_file(path / run::kMetrics, ignored) ||
          fs::is_directory(path / run::kCheckpoints, ignored));
}

}  // namespace

std::map<std::string, fs::path> find_runs(const fs::path& directory) {
  if (is_run(directory)) return {{".", directory}};
  std::map<std::string, fs::path> found;
  std::error_code error;
  const auto skip = fs::directory_options::skip_permission_denied;
  for (auto at = fs::recursive_directory_iterator(directory, skip, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (!at->is_directory(ignored) || at->is_symlink(ignored)) continue;
    const bool is_one = is_run(at->path());
    if (is_one) found[at->path().lexically_relative(directory)] = at->path();
    if (is_one || at.depth() + 1 >= kDepth) at.disable_recursion_pending();
  }
  return found;
}

std::string stamp_of(const fs::path& run) {
  std::string stamp;
  for (const char* name : {run::kMetrics, run::kRunConfig, "speed.jsonl", "log.txt"}) {
    struct stat info {};
    if (::stat((run / name).c_str(), &info) != 0) continue;
    stamp +=
        fmt::format("{:x}.{:x}.{:x}-", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  return stamp + (is_running(run) ? "running" : "");
}

}  // namespace residual::review
