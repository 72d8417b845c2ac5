#pragma once

#include <cstddef>

namespace residual {

// Zeroed memory directly from the kernel, for a few large, long-lived blocks. A page takes memory
// once it is touched. Pages are huge where the system grants them on request, which saves most page
// faults while filling them and most TLB misses while reading them.
class Pages {
 public:
  Pages() = default;
  explicit Pages(size_t bytes) { grow(bytes); }
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;

  // The address is aligned to at least 4096 bytes.
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  // Grows to at least `bytes`. The contents are kept without a copy, but their address may change.
  void grow(size_t bytes);

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace residual
