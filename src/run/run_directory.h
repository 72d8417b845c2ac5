#pragma once

#include <string>

#include "base/files.h"
#include "run/config.h"

// The directory of a run; docs/formats.md lists its files.
namespace residual::run {

inline constexpr const char* kRunConfig = "config.toml";
inline constexpr const char* kMetrics = "metrics.jsonl";
inline constexpr const char* kReport = "report.html";
inline constexpr const char* kCheckpoints = "checkpoints";

// Throws an Error that lists the keys of `now` that would change what the run at `path` computes.
void require_same_run(const fs::path& path, const TrainConfig& before, const TrainConfig& now);

// Tells whether the directory holds a run with more than its configuration; a new run may replace
// a configuration alone.
bool has_begun(const fs::path& path);

class RunDirectory {
 public:
  // Prepares a new run. Refuses a directory that holds a run, unless `force`, and always refuses
  // one with foreign files that a run would overwrite. Writes and removes nothing before begin().
  static RunDirectory create(const fs::path& path, const TrainConfig& config, bool force);
  // Opens a run to resume it, with another configuration of the same run; nullptr: its stored
  // configuration. Refuses a run whose checkpoints were removed.
  static RunDirectory resume(const fs::path& path, const TrainConfig* given);

  const fs::path& path() const { return path_; }
  const TrainConfig& config() const { return config_; }  // resolved
  bool is_new() const { return is_new_; }  // not begun: existing files belong to another run

  // Called after all checks have passed. Removes a run that is started over, writes a new or
  // changed configuration, and adds a [[sessions]] table to environment.toml: version, commit,
  // machine, libraries.
  void begin(const std::string& libraries, int processes = 1,
             FileSystem& system = FileSystem::real());

  RunDirectory(RunDirectory&& other) noexcept;
  ~RunDirectory();

 private:
  RunDirectory(fs::path path, int lock);

  fs::path path_;
  TrainConfig config_;
  bool is_new_ = false;
  bool has_changed_ = false;  // whether the configuration changed since it was read
  int lock_;                  // held while the process lives, so that two never train one run
};

// The commit of the program that trained a run first; "" if the directory does not say.
std::string commit_of(const fs::path& run);

}  // namespace residual::run
