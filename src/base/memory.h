#pragma once

#include <cstdint>

namespace residual {

// Makes malloc keep what is freed, for programs that allocate and free the same large blocks over
// and over: by default glibc gets each block above 128 KiB from the kernel and gives it back, and
// the kernel clears every page of it anew. To be called before there are threads.
void keep_freed_memory();

// The most bytes of memory that the process has had at once.
int64_t peak_memory();

}  // namespace residual
