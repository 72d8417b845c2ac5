#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace residual::data {

// A set of hashes, 11 to 22 bytes each, with open addressing, at most 3/4 full. Keys must already
// be evenly distributed.
class HashSet {
 public:
  // Returns whether the key is new.
  bool insert(uint64_t key) {
    if (4 * (size_ + 1) > 3 * slots_.size()) grow();
    uint64_t& slot = slots_[find(occupied(key))];
    if (slot != kFree) return false;
    slot = occupied(key);
    ++size_;
    return true;
  }
  bool contains(uint64_t key) const {
    return !slots_.empty() && slots_[find(occupied(key))] != kFree;
  }
  size_t size() const { return size_; }

 private:
  static constexpr uint64_t kFree = 0;
  static uint64_t occupied(uint64_t key) { return key == kFree ? 1 : key; }

  // Returns the slot where the key is, or would be.
  size_t find(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = key & mask;
    while (slots_[at] != kFree && slots_[at] != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    const std::vector<uint64_t> old =
        std::exchange(slots_, std::vector<uint64_t>(slots_.empty() ? 1024 : 2 * slots_.size()));
    for (const uint64_t key : old) {
      if (key != kFree) slots_[find(key)] = key;
    }
  }

  std::vector<uint64_t> slots_;  // a power of two
  size_t size_ = 0;
};

}  // namespace residual::data
