#include "ops/mode.h"

#include <atomic>

#include "ops/autocast.h"

namespace residual::ops {
namespace {

std::atomic<Mode> current = Mode::fused;

}  // namespace

void set_mode(Mode mode) { current = mode; }
Mode mode() { return current; }

bool kernels_fit(std::initializer_list<Tensor> tensors) {
  if (mode() != Mode::fused || autocast_enabled_on_cpu()) return false;
  for (const auto& tensor : tensors) {
    if (tensor.defined() && (!tensor.is_cpu() || tensor.scalar_type() != at::kFloat)) return false;
  }
  return true;
}

}  // namespace residual::ops
