#pragma once

#include <cstdint>

namespace residual {

// Makes malloc keep freed memory, for programs that repeatedly allocate and free the same large
// blocks. By default glibc gets each block above 128 KiB from the kernel and returns it, and the
// kernel clears every page again. Call it before any thread starts.
void keep_freed_memory();

// Returns the peak memory of the process, in bytes.
int64_t peak_memory();

}  // namespace residual
