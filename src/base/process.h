#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace residual {

struct ProcessResult {
  int exit_code;  // 128 + signal when killed; 127 when the program does not exist
  std::string output;
};

// Runs a program from PATH, without a shell and without standard input, and returns its standard
// output. The program inherits our standard error.
ProcessResult run_process(const std::vector<std::string>& argv);

// Returns `text` in a shell's single quotes.
std::string single_quoted(const std::string& text);
// Returns `text` as one shell word, quoted only if necessary, for commands in messages.
std::string shell_word(const std::string& text);

// A program that runs in parallel with us, without a shell or standard input. Its output is
// appended to the file `log`. It has a separate process group: Ctrl-C reaches only us, and we
// decide whether to stop it. It gets SIGTERM when our process dies for any reason. The destructor
// does not wait for it.
class Child {
 public:
  Child(const std::vector<std::string>& argv, const std::filesystem::path& log);

  std::optional<int> exit_code();  // as in ProcessResult; nothing while it runs
  void signal(int number) const;

 private:
  pid_t id_;
  std::optional<int> exit_code_;
};

// A program that answers each line with a line before it reads the next, such as a line filter of
// `residual`. Ctrl-C does not reach it; it ends with our process. Only one thread at a time may use
// it.
class Filter {
 public:
  // The program gets `file` as descriptor 3 and inherits our standard error.
  Filter(const std::vector<std::string>& argv, int file);
  ~Filter();
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  // REQUIRES: `line` contains no line end. Throws an Error if the program has ended.
  std::string operator()(std::string_view line);

 private:
  std::string name_;
  pid_t id_ = 0;
  int socket_ = -1;
  std::string read_;  // bytes read after the last answer
};

}  // namespace residual
