#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "text/lines.h"
#include "text/string_table.h"

namespace residual::text {

// Counts of words, in the order of first occurrence.
class WordCounts {
 public:
  void add(std::string_view word, uint64_t count = 1) {
    const uint32_t id = words_.add(word);
    if (id == counts_.size()) counts_.push_back(0);
    counts_[id] += count;
  }
  void add(const WordCounts& other) {
    for (uint32_t id = 0; id < other.size(); ++id) add(other.word(id), other.count(id));
  }

  uint32_t size() const { return words_.size(); }
  std::string_view word(uint32_t id) const { return words_[id]; }
  uint64_t count(uint32_t id) const { return counts_[id]; }
  uint64_t count(std::string_view word) const {
    const uint32_t id = words_.find(word);
    return id == StringTable::kAbsent ? 0 : counts_[id];
  }

 private:
  StringTable words_;
  std::vector<uint64_t> counts_;
};

// A function that adds the words of a line to `counts`.
using LineCounter = std::function<void(std::string_view line, WordCounts& counts)>;

// Counts the words of all lines of all files ("-" is standard input), on all cores. The counts do
// not depend on the number of threads; the order of the words does.
WordCounts count_words(std::span<const fs::path> files, Invalid invalid,
                       const LineCounter& count_line);

}  // namespace residual::text
