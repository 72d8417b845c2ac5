#include "train/ranks/module.h"

#include <dlfcn.h>

#include "base/error.h"
#include "base/files.h"
#include "base/version.h"

namespace residual::train {
namespace {

// Beside the program in the build's directory, below the library directory once installed.
fs::path module_path(const std::string& file) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const fs::path beside = program / file;
  return fs::exists(beside, ignored) ? beside : program / RESIDUAL_MODULES / file;
}

}  // namespace

Module::Module(const std::string& file, const std::string& need, const std::string& remedy,
               const char* version)
    : path_(module_path(file).string()) {
  require(fs::exists(path_), "{}: {} {}", need, file, remedy);
  // Open MPI's own modules look for its symbols among the global ones.
  handle_ = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_GLOBAL);
  require(handle_ != nullptr, "{}: cannot load {}", need, ::dlerror());
  const std::string other = find<const char*()>(version)();
  const std::string own = fmt::format("{} {}", residual::version(), commit());
  require(other == own,
          "{}: is of version {}, this program is of version {}; install both from one "
          "build",
          path_, other, own);
}

void* Module::symbol(const char* name) const {
  void* const found = ::dlsym(handle_, name);
  require(found != nullptr, "{}: has no {}; it is not a module of residual", path_, name);
  return found;
}

}  // namespace residual::train
