#include "ops/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "training_kernels/product.h"

namespace residual::ops {
namespace {

// OpenBLAS built on POSIX threads, as Debian installs it, ignores OpenMP's settings. LibTorch may
// or may not use it, so the function is looked up among the loaded libraries.
bool switch_off_openblas_threads() {
  if (void* symbol = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(symbol)(1);
  }
  return true;
}

}  // namespace

void use_one_thread() {
  [[maybe_unused]] static const bool once = switch_off_openblas_threads();
  at::set_num_threads(1);
  kernels::use_one_thread();
}

}  // namespace residual::ops
