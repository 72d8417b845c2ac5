#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/files.h"
#include "text/glossary.h"
#include "text/lines.h"
#include "text/pair_table.h"
#include "text/string_table.h"

namespace residual::text {

struct BpeOptions {
  std::string separator = "@@";  // after every piece but the last of a word
  int64_t merges = -1;           // use only this many first merges; -1: all
  // A piece that is not in this set (with its separator) is split again by undoing merges.
  std::optional<StringTable> vocabulary;
  std::vector<std::string> glossaries;
  // Probability of skipping a merge, drawn again at each step (Provilkov et al. 2020). The draws
  // depend only on the seed and the line's text.
  double dropout = 0;
  uint64_t seed = 1;
};

// BPE merges, applied as subword-nmt 0.3.8 applies them. A Bpe is immutable and shared by threads.
class Bpe {
 public:
  // `name` is the file name in errors. The parser accepts versions 0.1 (no header) and 0.2.
  Bpe(std::string_view codes, const std::string& name, BpeOptions options = {});
  static Bpe load(const fs::path& codes, BpeOptions options = {});

  const BpeOptions& options() const { return options_; }
  size_t size() const { return merges_.size(); }

 private:
  friend class BpeTransform;

  struct Merge {
    uint32_t left, right, merged;  // symbols
  };

  bool glues_end_of_word_ = true;  // version 0.2: "</w>" is part of the last character
  BpeOptions options_;
  Glossary glossary_;
  StringTable symbols_;
  std::vector<Merge> merges_;  // by rank
  PairTable ranks_;
  std::unordered_map<uint32_t, uint32_t> origin_;  // symbol -> the merge that undoing takes
};

// Splits lines into pieces, for one thread. Words seen before come from a cache of bounded size.
class BpeTransform {
 public:
  explicit BpeTransform(std::shared_ptr<const Bpe> bpe);

  // Leading and trailing spaces stay; words are separated by one space. As in subword-nmt, this
  // holds for each part of the line that ends at one of Python's line ends.
  void operator()(std::string_view line, std::string& out);
  // With dropout, later draws also depend on `number`.
  void draw_by(uint64_t number) { number_ = number; }

 private:
  // A symbol and the bytes of the word it covers, in a list.
  struct Node {
    uint32_t symbol;
    uint32_t begin, end;
    uint32_t previous, next;
  };
  struct Candidate {
    uint32_t rank, node;
  };

  void append_part(std::string_view part, std::string& out);
  void append_word(std::string_view word, std::string& out);
  void append_segments(std::string_view word, std::string& out);
  void split(std::string_view segment);
  void read_characters(std::string_view segment);
  void merge_by_rank();
  void merge_with_dropout();
  bool dropout_step(uint32_t begin);
  uint32_t rank_at(uint32_t node) const;
  void join(uint32_t node, uint32_t symbol);
  void restrict_piece(const std::string& piece, bool is_final, std::vector<std::string>& out) const;

  std::shared_ptr<const Bpe> bpe_;
  Glossary::Matcher glossary_;
  StringTable words_;  // cached words; ends_ has the ends of their pieces in segmented_
  std::vector<size_t> ends_;
  std::string segmented_;
  std::vector<Node> nodes_;
  std::vector<Candidate> heap_, batch_;
  std::vector<std::string> pieces_;
  std::string scratch_;
  uint64_t number_ = 0, stream_ = 0, draws_ = 0;
};

// Returns a BpeTransform as a function that can be copied; the copies share one cache.
LineTransform bpe_transform(std::shared_ptr<const Bpe> bpe);

// Reads "word count" lines, as subword-nmt's get-vocab writes them, and returns the words counted
// at least `threshold` times. Errors name the line.
StringTable read_bpe_vocabulary(const fs::path& file, uint64_t threshold);

// Joins pieces to words by fairseq's rule: after a space is appended to the line, every separator
// followed by a space is removed with that space. Trailing white space is removed too.
void undo_bpe(std::string_view line, std::string_view separator, std::string& out);

}  // namespace residual::text
