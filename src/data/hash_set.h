#pragma once

#include <cstdint>

#include "base/flat_table.h"

namespace residual::data {

// A set of hashes, 11 to 22 bytes each. Keys must already be evenly distributed.
class HashSet {
 public:
  // Returns whether the key is new.
  bool insert(uint64_t key) {
    const uint64_t stored = occupied(key);
    const size_t before = table_.size();
    table_.find_or_insert(
        stored, [=](uint64_t slot) { return slot == stored; }, [=] { return stored; });
    return table_.size() != before;
  }
  bool contains(uint64_t key) const {
    const uint64_t stored = occupied(key);
    return !table_.is_free(table_.find(stored, [=](uint64_t slot) { return slot == stored; }));
  }
  size_t size() const { return table_.size(); }

 private:
  struct Layout {
    using Slot = uint64_t;
    static bool is_free(uint64_t slot) { return slot == 0; }
    static uint64_t hash(uint64_t slot) { return slot; }
  };
  static uint64_t occupied(uint64_t key) { return key == 0 ? 1 : key; }

  FlatTable<Layout, 3> table_{1024};
};

}  // namespace residual::data
