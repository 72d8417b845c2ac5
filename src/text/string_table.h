#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/flat_table.h"

namespace residual::text {

// Strings numbered 0, 1, 2, ... in the order of their first addition. The table stores the bytes
// contiguously in one buffer. Copies are independent.
class StringTable {
 public:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  uint32_t add(std::string_view string);  // returns the number of the string, new or existing
  uint32_t find(std::string_view string) const;     // kAbsent if it was never added
  std::string_view operator[](uint32_t id) const {  // valid until the next add()
    return std::string_view(bytes_).substr(begins_[id], begins_[id + 1] - begins_[id]);
  }
  uint32_t size() const { return static_cast<uint32_t>(begins_.size() - 1); }
  size_t bytes() const { return bytes_.size(); }
  void reserve(size_t strings, size_t bytes);  // total sizes
  void clear();                                // keeps the memory

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t id = kAbsent;
  };

  struct Layout {
    using Slot = StringTable::Slot;
    static bool is_free(const Slot& slot) { return slot.id == kAbsent; }
    static uint64_t hash(const Slot& slot) { return slot.hash; }
  };

  FlatTable<Layout> table_{16};
  std::vector<size_t> begins_{0};
  std::string bytes_;
};

}  // namespace residual::text
