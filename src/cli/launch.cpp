#include "cli/launch.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "run/run_directory.h"

namespace residual::cli {
namespace {

using Words = std::vector<std::string>;

// The seconds between SIGTERM and SIGKILL that Open MPI's mpirun leaves the other processes when
// one has died: time to name it, or to write a checkpoint. Waiting processes leave the cores to
// others.
constexpr const char* kSettings[][2] = {{"OMPI_MCA_odls_base_sigkill_timeout", "20"},
                                        {"OMPI_MCA_mpi_yield_when_idle", "1"},
                                        {"OMPI_MCA_hwloc_base_binding_policy", "none"}};

volatile std::sig_atomic_t received_signal = 0;
volatile std::sig_atomic_t launcher_process = 0;

void pass_on(int signal) {
  received_signal = signal;
  if (launcher_process > 0) ::kill(launcher_process, signal);
}

void pass_signals_on() {
  struct sigaction action = {};
  action.sa_handler = pass_on;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

// The command line without what only this program reads, which is given as "--key VALUE" or
// "--key=VALUE".
Words words_for_processes(int argc, char** argv) {
  static const std::set<std::string> own = {"--launcher", "--max-restarts"};
  Words words = {fs::read_symlink("/proc/self/exe").string()};
  bool is_distributed = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (own.contains(word)) {
      ++i;
    } else if (!own.contains(word.substr(0, word.find('=')))) {
      is_distributed = is_distributed || word == "--distributed";
      words.push_back(word);
    }
  }
  if (!is_distributed) words.emplace_back("--distributed");  // of train, wherever that word is
  return words;
}

Words words_to_resume(const TrainCommand& command, const Words& first) {
  Words words = {first[0], "train", "--resume", "--distributed", "-o", output_of(command).string()};
  if (!command.data.empty()) words.insert(words.end(), {"--data", command.data});
  if (command.probe_every > 0) {
    words.insert(words.end(), {"--probe", fmt::format("every={}", command.probe_every)});
  }
  for (size_t i = 1; i < first.size(); ++i) {
    if (first[i] == "-q" || first[i] == "--quiet") words.push_back(first[i]);
    if (first[i] == "--threads" && i + 1 < first.size()) {
      words.insert(words.end(), {first[i], first[i + 1]});
    }
  }
  return words;
}

// Whether the run has a checkpoint that is not older than `time`.
bool has_checkpoint(const fs::path& run, fs::file_time_type time) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run / run::kCheckpoints, error)) {
    const bool is_new = fs::last_write_time(entry.path(), error) >= time;
    if (entry.path().extension() == ".safetensors" && is_new && !error) return true;
  }
  return false;
}

int run_launcher(const Words& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_t id = 0;
  errno = ::posix_spawnp(&id, pointers[0], nullptr, nullptr, pointers.data(), environ);
  if (errno != 0) fail_errno(words[0], "cannot start");
  launcher_process = id;
  if (received_signal != 0) ::kill(id, received_signal);  // it came before there was a process
  int status = 0;
  while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
  }
  launcher_process = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

constexpr unsigned kPause = 10;  // seconds before another start, in which a machine may come back

// Only a lost process is worth another start: an error would come again, and a stop was asked for.
bool is_loss(int code) {
  const bool is_stop = code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGHUP;
  return code == kLostPeer || (code > 128 && !is_stop);
}

}  // namespace

int launch(const TrainCommand& command, int argc, char** argv) {
  std::istringstream text(command.launcher);
  Words launcher;
  for (std::string word; text >> word;) launcher.push_back(word);
  require(!launcher.empty(), "--launcher: expected a command such as \"mpirun -n 4\"");
  for (const auto& [name, value] : kSettings) ::setenv(name, value, /*overwrite=*/0);
  pass_signals_on();
  const auto begin = fs::file_time_type::clock::now();
  const Words first = words_for_processes(argc, argv);
  Words now = first;
  for (int64_t left = command.max_restarts;; --left) {
    Words all = launcher;
    all.insert(all.end(), now.begin(), now.end());
    const int code = run_launcher(all);
    // A machine that is still away when the run starts again is an error of the launcher.
    const bool is_restart = left < command.max_restarts;
    if (received_signal != 0 || !(is_loss(code) || (is_restart && code == 1))) return code;
    if (left == 0) {
      if (command.max_restarts > 0) log::warn("a process was lost; no restart is left");
      return code;
    }
    const bool resumes = has_checkpoint(output_of(command), begin);
    now = resumes ? words_to_resume(command, first) : first;
    log::warn("a process was lost; {} in {} seconds, {} restart{} left",
              resumes ? "resuming from the last checkpoint" : "starting again", kPause, left - 1,
              left == 2 ? "" : "s");
    ::sleep(kPause);  // a signal ends it
    if (received_signal != 0) return 128 + received_signal;
  }
}

}  // namespace residual::cli
