#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace residual::kernels {

// Memory for words, aligned to cache lines and not initialised.
class Words {
 public:
  explicit Words(int64_t count = 0) { grow(count); }

  const uint32_t* data() const { return memory_.get(); }
  // Returns memory for at least `count` words; what it held is lost when it grows.
  uint32_t* grow(int64_t count) {
    if (count <= size_) return memory_.get();
    memory_.reset();
    const auto bytes = static_cast<size_t>((count + 15) / 16 * 64);
    memory_.reset(static_cast<uint32_t*>(std::aligned_alloc(64, bytes)));
    if (memory_ == nullptr) throw std::bad_alloc();
    size_ = count;
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<uint32_t, Free> memory_;
  int64_t size_ = 0;
};

// Returns memory of the calling thread, valid until its next call.
inline uint32_t* thread_words(int64_t count) {
  static thread_local Words words;
  return words.grow(count);
}

}  // namespace residual::kernels
