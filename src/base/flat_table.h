#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace residual {

// 2^64 over the golden ratio: a product with it spreads neighbouring keys (Fibonacci hashing).
inline constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;

// A hash table of entries that lie in one array of a power of two of slots; an entry that finds its
// slot taken goes to the next free one. No entry is ever removed by itself. `Layout` says what a
// slot is, by static members:
//   Slot                      an entry; Slot{} is a free slot
//   is_free(slot) -> bool
//   hash(slot) -> uint64_t    of an entry; its low bits count
// At most kFullQuarters / 4 of the slots are taken.
template <class Layout, size_t kFullQuarters = 2>
class FlatTable {
 public:
  using Slot = typename Layout::Slot;

  // REQUIRES: `slots` is a power of two.
  explicit FlatTable(size_t slots) : slots_(slots) {}

  // The slot of this hash for which same(slot) holds, or the free slot where it belongs.
  // REQUIRES: same() holds for no free slot.
  template <class Same>
  const Slot& find(uint64_t hash, const Same& same) const {
    return slots_[index_of(hash, same)];
  }
  static bool is_free(const Slot& slot) { return Layout::is_free(slot); }

  // The slot of this hash for which same(slot) holds; if there is none, make() becomes one. It
  // stays where it is until an insertion exceeds what reserve() was asked for.
  template <class Same, class Make>
  Slot& find_or_insert(uint64_t hash, const Same& same, const Make& make) {
    Slot* slot = &slots_[index_of(hash, same)];
    if (Layout::is_free(*slot)) {
      if (4 * (size_ + 1) > kFullQuarters * slots_.size()) {
        resize(2 * slots_.size());
        slot = &slots_[index_of(hash, same)];
      }
      *slot = make();
      ++size_;
    }
    return *slot;
  }

  // The slot of this hash for which same(slot) holds, or the free slot where it belongs; mark(slot)
  // makes either an entry of this hash. Unlike find_or_insert(), it does not branch on whether the
  // entry is new. REQUIRES: reserve() has made room for it.
  template <class Same, class Mark>
  Slot& find_or_mark(uint64_t hash, const Same& same, const Mark& mark) {
    Slot& slot = slots_[index_of(hash, same)];
    size_ += Layout::is_free(slot) ? 1 : 0;
    mark(slot);
    return slot;
  }

  // Calls visit(slot) for every entry, in the order of the slots. It must not change the hash.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (Slot& slot : slots_) {
      if (!Layout::is_free(slot)) visit(slot);
    }
  }

  size_t size() const { return size_; }

  // Makes room for so many entries, all in all.
  void reserve(size_t entries) {
    if (4 * entries <= kFullQuarters * slots_.size()) return;
    size_t slots = slots_.size();
    while (4 * entries > kFullQuarters * slots) slots *= 2;
    resize(slots);
  }

  // Keeps the memory.
  void clear() {
    size_ = 0;
    std::fill(slots_.begin(), slots_.end(), Slot{});
  }

 private:
  template <class Same>
  size_t index_of(uint64_t hash, const Same& same) const {
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (same(slot) || Layout::is_free(slot)) return at;
    }
  }

  void resize(size_t slots) {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
    for (const Slot& slot : old) {
      if (Layout::is_free(slot)) continue;
      slots_[index_of(Layout::hash(slot), [](const Slot&) { return false; })] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace residual
