#include "train/ranks/ranks_module.h"

#include <dlfcn.h>

#include "base/error.h"
#include "base/files.h"
#include "base/version.h"

namespace residual::train {
namespace {

constexpr const char* kModule = "residual-mpi.so";

// Beside the program in the build's directory, below the library directory once installed.
fs::path module_path() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const fs::path beside = program / kModule;
  return fs::exists(beside, ignored) ? beside : program / RESIDUAL_MODULES / kModule;
}

template <class Function>
Function* find(void* module, const char* name, const std::string& path) {
  void* const found = ::dlsym(module, name);
  require(found != nullptr, "{}: has no {}; it is not a module of residual", path, name);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

std::unique_ptr<Ranks> open_ranks() {
  const std::string path = module_path().string();
  require(fs::exists(path),
          "--distributed: {} is not installed: install the package residual-mpi, or install "
          "libopenmpi-dev and build with -DRESIDUAL_MPI=ON",
          kModule);
  // Open MPI's own modules look for its symbols among the global ones.
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  require(module != nullptr, "--distributed: cannot load {}", ::dlerror());
  const std::string other = find<RanksVersion>(module, kRanksVersion, path)();
  const std::string own = fmt::format("{} {}", version(), commit());
  require(other == own,
          "{}: is of version {}, this program is of version {}; install both from one "
          "build",
          path, other, own);
  return std::unique_ptr<Ranks>(find<OpenRanks>(module, kOpenRanks, path)());
}

}  // namespace residual::train
