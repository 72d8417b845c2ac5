#pragma once

#include <cstdint>

#include "base/flat_table.h"

namespace residual::text {

// A hash table from pairs of numbers to numbers. The pair (UINT32_MAX, UINT32_MAX) is not allowed.
class PairTable {
 public:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  uint32_t find(uint32_t left, uint32_t right) const {
    const uint64_t key = key_of(left, right);
    return table_.find(hash_of(key), [=](const Slot& slot) { return slot.key == key; }).value;
  }

  // Returns the pair's value; a new pair gets `value`.
  uint32_t add(uint32_t left, uint32_t right, uint32_t value) {
    const uint64_t key = key_of(left, right);
    const Slot& slot = table_.find_or_insert(
        hash_of(key), [=](const Slot& other) { return other.key == key; },
        [=] { return Slot{.key = key, .value = value}; });
    return slot.value;
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t key = kFree;
    uint32_t value = kAbsent;
  };
  struct Layout {
    using Slot = PairTable::Slot;
    static bool is_free(const Slot& slot) { return slot.key == kFree; }
    static uint64_t hash(const Slot& slot) { return hash_of(slot.key); }
  };

  static uint64_t key_of(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }
  static uint64_t hash_of(uint64_t key) { return (key ^ key >> 29) * kGoldenRatio >> 20; }

  FlatTable<Layout> table_{16};
};

}  // namespace residual::text
