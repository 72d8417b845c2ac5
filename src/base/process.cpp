#include "base/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace residual {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  for (const auto& arg : argv) pointers.push_back(const_cast<char*>(arg.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& argv) {
  const std::vector<char*> pointers = pointers_to(argv);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_errno(argv[0], "cannot create a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int code =
      ::posix_spawnp(&child, argv[0].c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);

  ProcessResult result{.exit_code = 127};
  if (code == 0) {
    std::array<char, 65536> buffer{};
    for (;;) {
      const ssize_t n = ::read(ends[0], buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      result.output.append(buffer.data(), static_cast<size_t>(n));
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    result.exit_code = exit_code_of(status);
  }
  ::close(ends[0]);
  return result;
}

std::string single_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("_-./:,+@%=", c) != nullptr;
  };
  const bool plain = !text.empty() && std::ranges::all_of(text, is_plain);
  return plain ? text : single_quoted(text);
}

Child::Child(const std::vector<std::string>& argv, const std::filesystem::path& log) {
  const std::vector<char*> pointers = pointers_to(argv);
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (output < 0) fail_errno(log, "cannot open");
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = ::getpid();
  // Not posix_spawn: it cannot ask for the signal at our death.
  id_ = ::fork();
  if (id_ == 0) {  // only what is safe after fork() in a process with threads
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(128 + SIGTERM);  // we died before prctl()
    sigset_t none;                                      // what we block is our affair
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  }
  const int code = errno;
  ::close(input);
  ::close(output);
  errno = code;
  if (id_ < 0) fail_errno(argv[0], "cannot start");
}

std::optional<int> Child::exit_code() {
  int status = 0;
  if (!exit_code_ && ::waitpid(id_, &status, WNOHANG) == id_) exit_code_ = exit_code_of(status);
  return exit_code_;
}

void Child::signal(int number) const {
  if (!exit_code_) ::kill(id_, number);
}

Filter::Filter(const std::vector<std::string>& argv, int file) : name_(argv[0]) {
  const std::vector<char*> pointers = pointers_to(argv);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail_errno(name_, "cannot create a socket");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, file, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int code =
      ::posix_spawnp(&id_, argv[0].c_str(), &actions, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  socket_ = ends[0];
  if (code == 0) return;
  ::close(socket_);
  errno = code;
  fail_errno(name_, "cannot start");
}

Filter::~Filter() {
  ::close(socket_);
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string Filter::operator()(std::string_view line) {
  const std::string sent = std::string(line) + '\n';
  const auto require_running = [&](ssize_t n) {
    require(n > 0, "{}: the process ended unexpectedly; any reason it printed is above", name_);
  };
  for (std::string_view left = sent; !left.empty();) {
    const ssize_t n = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    require_running(n);
    left.remove_prefix(static_cast<size_t>(n));
  }
  std::array<char, 65536> buffer;
  size_t end = 0;
  while ((end = read_.find('\n')) == std::string::npos) {
    const ssize_t n = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    require_running(n);
    read_.append(buffer.data(), static_cast<size_t>(n));
  }
  std::string answer = read_.substr(0, end);
  read_.erase(0, end + 1);
  return answer;
}

}  // namespace residual
