#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace residual {

struct ProcessResult {
  int exit_code;  // 128 + signal when killed; 127 when the program is not there
  std::string output;
};

// Runs a program found on PATH, without a shell, with no standard input, and returns what it wrote
// to standard output. Its standard error is ours.
ProcessResult run_process(const std::vector<std::string>& argv);

// As a shell's single-quoted text.
std::string single_quoted(const std::string& text);
// As a word that a shell reads back, quoted only if it must be: for commands in messages.
std::string shell_word(const std::string& text);

// A program that runs beside us, without a shell or standard input; what it says is added to a
// file. It is in a process group of its own: Ctrl-C reaches us, and we decide what becomes of it.
// When we die, however that happens, it gets SIGTERM. The destructor does not wait for it.
class Child {
 public:
  Child(const std::vector<std::string>& argv, const std::filesystem::path& log);

  std::optional<int> exit_code();  // as above; nothing: it still runs
  void signal(int number) const;

 private:
  pid_t id_;
  std::optional<int> exit_code_;
};

// A program that answers each line with a line before it reads the next, as our own that turn lines
// into lines. Ctrl-C does not reach it; it ends with us. For one thread at a time.
class Filter {
 public:
  // `file` becomes its standard file 3; what it says is said by us.
  Filter(const std::vector<std::string>& argv, int file);
  ~Filter();
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  // REQUIRES: there is no line end in it. An Error if the program has ended.
  std::string operator()(std::string_view line);

 private:
  std::string name_;
  pid_t id_ = 0;
  int socket_ = -1;
  std::string read_;  // behind the last answer
};

}  // namespace residual
