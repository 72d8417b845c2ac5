#pragma once

#include <cstdint>
#include <vector>

namespace residual::kernels {

// Returns memory of the calling thread for at least `count` floats, valid until the thread's next
// call. It grows to the largest request and is kept, so the steady state allocates nothing.
inline float* thread_scratch(int64_t count) {
  static thread_local std::vector<float> memory;
  if (static_cast<int64_t>(memory.size()) < count) memory.resize(count);
  return memory.data();
}

}  // namespace residual::kernels
