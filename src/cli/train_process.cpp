#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "cli/train.h"

namespace residual::cli {

void run_residual_train(char** argv) {
  const std::string name = "residual-train";
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  ::execv((self.parent_path() / name).c_str(), argv);
  if (errno == ENOENT) ::execvp(name.c_str(), argv);
  require(errno != ENOENT,
          "{} is not installed beside {} nor found in PATH. Translating needs no LibTorch, but "
          "training does: install the package residual-train, or libtorch-dev and build with "
          "-DRESIDUAL_TRAIN=ON",
          name, self.string());
  fail_errno(name, "cannot run");
}

}  // namespace residual::cli
