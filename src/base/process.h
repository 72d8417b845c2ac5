#pragma once

#include <string>
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

}  // namespace residual
