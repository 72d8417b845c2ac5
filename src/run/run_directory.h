#pragma once

#include <string>

#include "base/files.h"
#include "run/config.h"

// A run's directory; docs/formats.md lists its files.
namespace residual::run {

inline constexpr const char* kRunConfig = "config.toml";
inline constexpr const char* kMetrics = "metrics.jsonl";
inline constexpr const char* kCheckpoints = "checkpoints";

// An Error lists the keys of `now` that would make the run at `path` another one.
void require_same_run(const fs::path& path, const TrainConfig& before, const TrainConfig& now);

// Whether there is a run, and more than its configuration: one that has no more is not in the way.
bool has_begun(const fs::path& path);

class RunDirectory {
 public:
  // A new run. A directory that holds one already is refused, unless `force`; one that holds what a
  // run would write over is refused always. Nothing is written or removed before begin().
  static RunDirectory create(const fs::path& path, const TrainConfig& config, bool force);
  // A run to be continued, with another configuration of the same run; nullptr: as it was. One
  // whose checkpoints were removed is refused.
  static RunDirectory resume(const fs::path& path, const TrainConfig* given);

  const fs::path& path() const { return path_; }
  const TrainConfig& config() const { return config_; }  // resolved
  bool is_new() const { return is_new_; }  // and has not begun: what lies there is not its own

  // When the run has been found to be able to go on: removes the one that it starts over, writes a
  // configuration that is new or was changed, and adds a [[sessions]] table to environment.toml:
  // version, commit, machine, libraries.
  void begin(const std::string& libraries, int processes = 1,
             FileSystem& system = FileSystem::real());

  RunDirectory(RunDirectory&& other) noexcept;
  ~RunDirectory();

 private:
  RunDirectory(fs::path path, int lock);

  fs::path path_;
  TrainConfig config_;
  bool is_new_ = false;
  bool has_changed_ = false;  // the configuration, since it was read
  int lock_;                  // held while the process lives: no two work on one run
};

// The commit of the program that trained a run first; "" if the directory does not say.
std::string commit_of(const fs::path& run);

}  // namespace residual::run
