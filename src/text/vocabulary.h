#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "text/string_table.h"
#include "text/word_counts.h"

namespace residual::text {

// Symbols and their ids, by fairseq's rules and in its dict.txt format.
class Vocabulary {
 public:
  // <s> <pad> </s> <unk> are in every vocabulary but not in its file.
  static constexpr int32_t kBos = 0, kPad = 1, kEos = 2, kUnk = 3;
  static constexpr int32_t kSpecials = 4;

  Vocabulary();

  // Parses lines "symbol count", in the order of ids from kSpecials on. A symbol may be repeated,
  // or be a special one, only if the line ends in "#fairseq:overwrite"; its last id is then used.
  // Errors name file and line.
  static Vocabulary load(const fs::path& path);
  static Vocabulary parse(std::string_view content, const std::string& name);
  void save(const fs::path& path) const;
  std::string format() const;  // returns the text that save() writes

  int32_t id(std::string_view symbol) const {  // kUnk if absent
    const uint32_t known = table_.find(symbol);
    return known == StringTable::kAbsent ? kUnk : ids_[known];
  }
  std::string_view symbol(int32_t id) const { return table_[numbers_.at(static_cast<size_t>(id))]; }
  uint64_t count(int32_t id) const { return counts_.at(static_cast<size_t>(id)); }
  int32_t size() const { return static_cast<int32_t>(numbers_.size()); }

  // Appends the ids of the symbols, which white space separates, then kEos.
  void encode(std::string_view line, std::vector<int32_t>& ids) const;
  // Returns the symbols up to the first kEos, joined by spaces, without kBos and kPad.
  std::string decode(std::span<const int32_t> ids) const;

 private:
  friend class VocabularyBuilder;
  bool append(std::string_view symbol, uint64_t count);  // returns whether the symbol is new
  void reserve(size_t symbols, size_t bytes);

  StringTable table_;
  std::vector<int32_t> ids_;       // by number in table_
  std::vector<uint32_t> numbers_;  // by id
  std::vector<uint64_t> counts_;
};

struct VocabularyRules {
  uint64_t threshold = 0;  // omit symbols with a smaller count
  int64_t max_words = -1;  // number of ids including specials, before padding; -1: no limit
  int32_t multiple = 8;    // "madeupword0000" ... pad the size to a multiple of this
};

// Counts symbols. Ids are assigned by decreasing count, then by code points.
class VocabularyBuilder {
 public:
  void add(std::string_view symbol, uint64_t count) { counts_.add(symbol, count); }
  void merge(const WordCounts& counts) { counts_.add(counts); }
  Vocabulary finish(const VocabularyRules& rules = {}) const;

  // Returns a LineCounter for count_words().
  static void count_line(std::string_view line, WordCounts& counts);

 private:
  WordCounts counts_;
};

}  // namespace residual::text
