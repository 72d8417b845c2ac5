#include "run/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/version.h"
#include "model/directory.h"
#include "run/checkpoint.h"
#include "run/validation.h"

namespace residual::run {
namespace {

constexpr const char* kEnvironment = "environment.toml";
constexpr const char* kLock = "lock";

// A session of a run: from its start or a resume to its end.
struct Session {
  std::string started, residual, commit, compiler, libraries, host, system, cpu, features;
  int64_t cores = 0, processes = 1;
};

struct Environment {
  std::vector<Session> sessions;
};

void fields(ConfigVisitor& visit, Session& s) {
  visit("started", s.started, "");
  visit("residual", s.residual, "");
  visit("commit", s.commit, "");
  visit("compiler", s.compiler, "");
  visit("libraries", s.libraries, "");
  visit("host", s.host, "");
  visit("system", s.system, "");
  visit("cpu", s.cpu, "");
  visit("features", s.features, "");
  visit("cores", s.cores, "");
  visit("processes", s.processes, "");
}

void fields(ConfigVisitor& visit, Environment& e) {
  visit.tables("sessions", e.sessions, "starts and resumes");
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

Session session(const std::string& libraries, int processes) {
  utsname name{};
  ::uname(&name);
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char started[32];
  std::strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {.started = started,
          .residual = std::string(version()),
          .commit = std::string(commit()),
          .compiler = std::string(compiler()),
          .libraries = libraries,
          .host = name.nodename,
          .system = fmt::format("{} {}", name.sysname, name.release),
          .cpu = cpu_model(),
          .features = cpu_features(),
          .cores = available_cores(),
          .processes = processes};
}

int lock(const fs::path& path) {
  const int file = ::open((path / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) fail_errno(path / kLock, "cannot open");
  bool is_mine = false;
  for (int i = 0; i < 5 && !is_mine; ++i) {  // `residual study` may hold the lock briefly
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    is_mine = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  }
  if (!is_mine) {
    ::close(file);
    fail("{}: another process is training in it; wait for it to end, or stop it", path.string());
  }
  return file;
}

// The names that a run writes.
constexpr const char* kNames[] = {kRunConfig, "best",        "last",    kEnvironment,
                                  kMetrics,   "speed.jsonl", "log.txt", kReport};

bool is_written_by_run(const std::string& name) {
  const std::string bundle = "nonfinite-";
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         name.starts_with("events.out.tfevents.") ||
         (name.starts_with(bundle) &&
          name.find_first_not_of("0123456789", bundle.size()) == std::string::npos);
}

// Removes everything that a run writes except its configuration, which is replaced. Other files
// belong to the user and stay.
void remove_run(const fs::path& path) {
  const fs::path checkpoints = path / kCheckpoints;
  for (const auto& [update, file] : CheckpointStore(checkpoints, {}).list()) fs::remove(file);
  const auto remove_if = [](const fs::path& directory, const auto& condition) {
    if (!fs::is_directory(directory)) return;
    const std::vector<fs::path> all(fs::directory_iterator(directory), {});
    for (const auto& item : all) {
      if (condition(item.filename().string())) fs::remove_all(item);
    }
  };
  remove_if(checkpoints, [](const std::string& name) {  // left by a killed process
    return name.find(".safetensors.partial-") != std::string::npos;
  });
  remove_if(path,
            [](const std::string& name) { return name != kRunConfig && is_written_by_run(name); });
}

// Tells whether a run wrote the existing file or directory.
bool holds_run(const fs::path& path) {
  if (!fs::is_directory(path / kCheckpoints) && !fs::exists(path / kMetrics)) return false;
  try {
    TrainConfig config;
    read_config(path / kRunConfig, config);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Fails if a run would overwrite files that no run wrote: a model directory, a recipe, foreign
// checkpoints.
void require_no_strangers(const fs::path& path) {
  const auto require_none = [&](bool is_there, const char* name) {
    require(!is_there,
            "{}: has a {} that no run wrote, and a run would overwrite it; give another "
            "--output",
            path.string(), name);
  };
  for (const char* name : kNames) require_none(fs::exists(path / name), name);
  const fs::path checkpoints = path / kCheckpoints;
  require_none(fs::exists(checkpoints) && !fs::is_empty(checkpoints), kCheckpoints);
}

// Tells whether a path is the directory or lies inside it.
bool lies_in(const fs::path& path, const fs::path& directory) {
  const fs::path inside =
      fs::weakly_canonical(path).lexically_relative(fs::weakly_canonical(directory));
  return !inside.empty() && *inside.begin() != "..";
}

// A run with models but without a checkpoint was either killed while it wrote the first checkpoint,
// or somebody removed its checkpoints.
void require_checkpoints(const fs::path& path, const TrainConfig& config) {
  const auto update_of = [&](const char* name) {
    const fs::path model = path / name;
    if (!fs::exists(model / model::kConfigFile)) return int64_t{-1};
    model::Description description;
    read_config(model / model::kConfigFile, description);
    return description.update;
  };
  const bool kept = fs::is_directory(path / kCheckpoints);
  if (kept && !fs::is_empty(path / kCheckpoints)) return;
  const int64_t best = update_of("best"), last = update_of("last");
  const int64_t update = std::max(best, last), every = config.checkpoint.every_updates;
  if (update < 0) return;
  const bool first = kept && (best < 0 || last < 0 || best == last);
  // The first that gives a number is followed by a checkpoint.
  const bool was_before =
      std::ranges::any_of(validations_of(path, config.validate.metric),
                          [&](const auto& v) { return v.first < update && !std::isnan(v.second); });
  require(first && (every == 0 || update <= every) && !was_before,
          "{}: has models, but no checkpoint to resume from; start over with --force, or give "
          "another --output",
          path.string());
}

}  // namespace

void require_same_run(const fs::path& path, const TrainConfig& before, const TrainConfig& now) {
  std::string list;
  for (const auto& d : differences(before, now)) {
    list += fmt::format("\n  {}: was {}, now {}", d.key, d.before, d.now);
  }
  require(list.empty(),
          "{}: the run cannot resume with changed values of these keys; undo the change, or "
          "start a new run with another --output:{}",
          path.string(), list);
}

bool has_begun(const fs::path& path) {
  if (!holds_run(path)) return false;
  const fs::path kept = path / kCheckpoints;
  return fs::exists(path / kMetrics) || fs::exists(path / "best") || fs::exists(path / "last") ||
         (fs::is_directory(kept) && !fs::is_empty(kept));
}

RunDirectory::RunDirectory(fs::path path, int lock) : path_(std::move(path)), lock_(lock) {}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      config_(std::move(other.config_)),
      is_new_(other.is_new_),
      has_changed_(other.has_changed_),
      lock_(std::exchange(other.lock_, -1)) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

RunDirectory RunDirectory::create(const fs::path& path, const TrainConfig& config, bool force) {
  require_writable(path);
  require(!fs::exists(path / "prepared.toml"),
          "{}: holds a prepared corpus, and preparing it again would delete the run; give another "
          "--output",
          path.string());
  const bool used = holds_run(path);
  if (!used) require_no_strangers(path);
  fs::create_directories(path);
  RunDirectory run(path, lock(path));
  const bool begun = has_begun(path);
  require(!begun || force,
          "{}: holds a run already; continue it with --resume, give another --output, or start it "
          "over with --force",
          path.string());
  const std::string& start = config.train.start_from;
  require(!begun || start.empty() || !lies_in(start, path),
          "train.start_from: {} lies in {}, which --force starts over; copy the model, or give "
          "another --output",
          start, path.string());
  run.config_ = config;
  run.is_new_ = run.has_changed_ = true;
  return run;
}

RunDirectory RunDirectory::resume(const fs::path& path, const TrainConfig* given) {
  require(fs::exists(path / kRunConfig), "{}: holds no run to resume (it has no {})", path.string(),
          kRunConfig);
  RunDirectory run(path, lock(path));
  read_config(path / kRunConfig, run.config_);
  require_checkpoints(path, run.config_);
  if (given == nullptr) return run;
  require_same_run(path, run.config_, *given);
  const TrainConfig before = std::exchange(run.config_, *given);
  run.config_.model = before.model;
  run.config_.train.workers = before.train.workers;
  run.config_.schedule.total = before.schedule.total;
  run.config_.batch.last_temperature = before.batch.last_temperature;
  check(run.config_);
  run.has_changed_ = true;
  return run;
}

void RunDirectory::begin(const std::string& libraries, int processes, FileSystem& system) {
  if (is_new_ && holds_run(path_)) remove_run(path_);
  fs::create_directories(path_ / kCheckpoints);
  if (has_changed_) replace_file(path_ / kRunConfig, to_toml(config_), system);
  is_new_ = has_changed_ = false;
  Environment environment;
  const fs::path file = path_ / kEnvironment;
  try {
    if (fs::exists(file)) read_config(file, environment);
  } catch (const Error& error) {  // the file is only a record, so training goes on
    log::warn("{}; the file is started anew", error.what());
    environment = {};
  }
  environment.sessions.push_back(session(libraries, processes));
  replace_file(file, to_toml(environment), system);
}

std::string commit_of(const fs::path& run) {
  Environment environment;
  const fs::path file = run / kEnvironment;
  if (fs::exists(file)) read_config(file, environment);
  return environment.sessions.empty() ? "" : environment.sessions[0].commit;
}

}  // namespace residual::run
