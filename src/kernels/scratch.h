#pragma once

#include <cstdint>
#include <vector>

namespace residual::kernels {

// Memory of the calling thread for at least `count` floats, valid until its next call. It grows to
// the largest request and stays: no allocation in the steady state.
inline float* thread_scratch(int64_t count) {
  static thread_local std::vector<float> memory;
  if (static_cast<int64_t>(memory.size()) < count) memory.resize(count);
  return memory.data();
}

}  // namespace residual::kernels
