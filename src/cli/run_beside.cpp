#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "cli/command.h"

namespace residual::cli {

void run_beside(const std::string& program, const std::string& remedy, char** argv) {
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  ::execv((self.parent_path() / program).c_str(), argv);
  if (errno == ENOENT) ::execvp(program.c_str(), argv);
  require(errno != ENOENT, "{} is neither installed beside {} nor found in PATH. {}", program,
          self.string(), remedy);
  fail_errno(program, "cannot run");
}

}  // namespace residual::cli
