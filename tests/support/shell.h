#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "support/paths.h"
#include "support/temporary.h"

namespace residual::test {

struct ShellResult {
  int exit_code;
  std::string output, error;
};

// Runs a bash command line in an empty directory of its own. The project's binaries come first on
// PATH (see paths.h); exit code and text of both streams come back.
inline ShellResult run(const std::string& line) {
  const TemporaryDirectory directory;
  const TemporaryDirectory streams;
  std::ofstream(streams / "script") << "cd '" << directory.path().string() << "'\n" << line << "\n";
  const std::string command = "PATH='" + search_path() + "':\"$PATH\" bash '" +
                              (streams / "script").string() + "' > '" + (streams / "out").string() +
                              "' 2> '" + (streams / "err").string() + "'";
  const int status = std::system(command.c_str());
  const auto text = [&](const char* name) {
    std::ostringstream all;
    all << std::ifstream(streams / name).rdbuf();
    return all.str();
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text("out"),
          text("err")};
}

}  // namespace residual::test
