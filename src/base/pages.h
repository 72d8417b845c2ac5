#pragma once

#include <cstddef>

namespace residual {

// Memory straight from the kernel, zero at first: for few large blocks that live long. A page takes
// memory once it is touched. Pages are huge where the system gives such to those who ask: that
// spares most of the faults of filling them, and of the TLB misses of reading them.
class Pages {
 public:
  Pages() = default;
  explicit Pages(size_t bytes) { grow(bytes); }
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;

  // Aligned to at least 4096 bytes.
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  // At least `bytes`. The contents stay, but may move; they are not copied.
  void grow(size_t bytes);

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace residual
