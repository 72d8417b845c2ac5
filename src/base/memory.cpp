#include "base/memory.h"

#include <malloc.h>
#include <sys/resource.h>

#include <limits>

namespace residual {

void keep_freed_memory() {
  constexpr int kMebibyte = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 * kMebibyte);  // the most it takes; larger blocks are rare
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 * kMebibyte);
  mallopt(M_ARENA_MAX, 1);  // other threads' arenas are made of pieces of 64 MiB
}

int64_t peak_memory() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace residual
