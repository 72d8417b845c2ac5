#include "base/pages.h"

#include <sys/mman.h>

#include <utility>

#include "base/error.h"

namespace residual {
namespace {

constexpr size_t kHugePage = 2 << 20;  // the smallest that x86-64 and AArch64 with 4 KiB pages have

}  // namespace

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, size_);
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void Pages::grow(size_t bytes) {
  if (bytes <= size_) return;
  const size_t size = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* const made = data_ == nullptr ? mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                      : mremap(data_, size_, size, MREMAP_MAYMOVE);
  require(made != MAP_FAILED, "cannot allocate {} bytes", size);
  madvise(made, size, MADV_HUGEPAGE);  // a wish: without huge pages all works as well
  data_ = static_cast<std::byte*>(made);
  size_ = size;
}

}  // namespace residual
