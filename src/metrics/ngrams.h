#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace residual::metrics {

// Numbers for words, from 0 in order of first appearance. Keeps views, not copies.
class WordNumbers {
 public:
  static constexpr uint32_t kUnknown = UINT32_MAX;

  void clear();
  uint32_t add(std::string_view word);         // returns the number of the word, new or existing
  uint32_t find(std::string_view word) const;  // returns kUnknown if absent

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t number = 0;
    uint32_t round = 0;  // of clear(); a slot of an earlier round is empty
  };
  size_t slot_of(std::string_view word, uint64_t hash) const;
  void grow();

  std::vector<std::string_view> words_;
  std::vector<Slot> slots_ = std::vector<Slot>(64);
  uint32_t round_ = 1;
};

// The n-grams, n = 1 .. order, of one or several references, each with its largest count in any
// reference: a trie over units, which are characters or word numbers. The counts are exact: no
// n-gram is represented by a hash alone.
class NgramIndex {
 public:
  void clear();
  void add(std::span<const uint32_t> units, int order);

  // Sets matches[n - 1] to the sum over the n-grams of `units` of min(count there, count here).
  // Orders run to matches.size().
  void match(std::span<const uint32_t> units, std::span<int64_t> matches);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Slot {
    uint64_t key = 0;  // parent node, unit
    uint32_t child = 0;
    uint32_t round = 0;
  };
  struct Node {
    uint32_t limit = 0;  // largest count in any reference
    uint32_t seen = 0;   // count in text number `text`
    uint32_t text = 0;
  };
  size_t slot_of(uint64_t key) const;
  uint32_t child(uint32_t node, uint32_t unit) const;
  uint32_t add_child(uint32_t node, uint32_t unit);
  void grow();
  uint32_t count(uint32_t node);  // adds an occurrence in the current text

  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  std::vector<Node> nodes_ = std::vector<Node>(1);
  uint32_t round_ = 1;
  uint32_t text_ = 0;
};

// Returns the number of n-grams of this order in `length` units.
inline int64_t ngram_count(size_t length, size_t order) {
  return length >= order ? static_cast<int64_t>(length - order + 1) : 0;
}

}  // namespace residual::metrics
