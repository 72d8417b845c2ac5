#pragma once

#include <cstdint>
#include <vector>

namespace residual::text {

// A hash table from pairs of numbers to numbers, with open addressing. The pair (UINT32_MAX,
// UINT32_MAX) is not allowed.
class PairTable {
 public:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  uint32_t find(uint32_t left, uint32_t right) const {
    return slots_[slot_of(key(left, right))].value;
  }

  // Returns the pair's value; a new pair gets `value`.
  uint32_t add(uint32_t left, uint32_t right, uint32_t value) {
    if (size_ * 2 >= slots_.size()) grow();
    Slot& slot = slots_[slot_of(key(left, right))];
    if (slot.key == kFree) {
      slot = {.key = key(left, right), .value = value};
      ++size_;
    }
    return slot.value;
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t key = kFree;
    uint32_t value = kAbsent;
  };

  static uint64_t key(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

  size_t slot_of(uint64_t wanted) const {
    const size_t mask = slots_.size() - 1;
    // Fibonacci hashing: 2^64 / golden ratio spreads neighbouring keys.
    size_t at = ((wanted ^ wanted >> 29) * 0x9E3779B97F4A7C15 >> 20) & mask;
    while (slots_[at].key != wanted && slots_[at].key != kFree) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    std::swap(old, slots_);
    for (const Slot& slot : old) {
      if (slot.key != kFree) slots_[slot_of(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(16);
  size_t size_ = 0;
};

}  // namespace residual::text
