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

// Symbols and their ids, with fairseq's rules and its dict.txt files.
class Vocabulary {
 public:
  // <s> <pad> </s> <unk>: in every vocabulary, in no file.
  static constexpr int32_t kBos = 0, kPad = 1, kEos = 2, kUnk = 3;
  static constexpr int32_t kSpecials = 4;

  Vocabulary();

  // Lines "symbol count", in the order of the ids from kSpecials on. A symbol may come twice, or
  // be a special one, only if the line ends in "#fairseq:overwrite": its latest id then counts.
  // Errors name file and line.
  static Vocabulary load(const fs::path& path);
  static Vocabulary parse(std::string_view content, const std::string& name);
  void save(const fs::path& path) const;
  std::string format() const;  // what save() writes

  int32_t id(std::string_view symbol) const {  // kUnk if absent
    const uint32_t known = table_.find(symbol);
    return known == StringTable::kAbsent ? kUnk : ids_[known];
  }
  std::string_view symbol(int32_t id) const { return table_[numbers_.at(static_cast<size_t>(id))]; }
  uint64_t count(int32_t id) const { return counts_.at(static_cast<size_t>(id)); }
  int32_t size() const { return static_cast<int32_t>(numbers_.size()); }

  // Appends the ids of what is between white space, then kEos.
  void encode(std::string_view line, std::vector<int32_t>& ids) const;
  // The symbols up to the first kEos, joined by spaces, without kBos and kPad.
  std::string decode(std::span<const int32_t> ids) const;

 private:
  friend class VocabularyBuilder;
  bool append(std::string_view symbol, uint64_t count);  // whether there was none like it
  void reserve(size_t symbols, size_t bytes);

  StringTable table_;
  std::vector<int32_t> ids_;       // by number in table_
  std::vector<uint32_t> numbers_;  // by id
  std::vector<uint64_t> counts_;
};

struct VocabularyRules {
  uint64_t threshold = 0;  // leave out symbols with a smaller count
  int64_t max_words = -1;  // ids in all, specials too, before padding; -1: as many as there are
  int32_t multiple = 8;    // "madeupword0000" ... are added until the size is a multiple of this
};

// Counts symbols. Their ids follow count, highest first, then code points.
class VocabularyBuilder {
 public:
  void add(std::string_view symbol, uint64_t count) { counts_.add(symbol, count); }
  void merge(const WordCounts& counts) { counts_.add(counts); }
  Vocabulary finish(const VocabularyRules& rules = {}) const;

  // A LineCounter for count_words().
  static void count_line(std::string_view line, WordCounts& counts);

 private:
  WordCounts counts_;
};

}  // namespace residual::text
