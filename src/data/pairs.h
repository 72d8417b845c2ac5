#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/lines.h"

// Parallel text: two files whose n-th lines translate each other, or one of tab-separated columns.
namespace residual::data {

// LineBuffer stored contiguously.
class LineBuffer {
 public:
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  void add(std::string_view line) {
    bytes_ += line;
    ends_.push_back(bytes_.size());
  }
  size_t bytes() const { return bytes_.size(); }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

struct PairFiles {
  fs::path source, target;              // the same file if the text is in columns
  std::vector<int64_t> columns;         // source and target column, from 1; empty for two files
  fs::path numbers;                     // original line numbers, for a text that lost lines
  std::vector<fs::path> files() const;  // the files that must exist
};

// Finds the files of a text. `name` is a file of tab-separated columns if it ends in ".tsv", else
// the common prefix of name.<source language> and name.<target language>. Throws an Error if a file
// does not exist.
PairFiles find_pair_files(const std::string& name, const std::string& source_language,
                          const std::string& target_language, const std::vector<int64_t>& columns);

struct PairBlock {
  LineBuffer source, target;
  std::vector<uint64_t> numbers;  // number of each pair in the input, from 1
};

// Reads the pairs of several inputs in sequence, with consecutive numbers. A file that ends before
// its partner is an error that gives both counts.
class PairReader {
 public:
  PairReader(std::vector<PairFiles> inputs, text::Invalid invalid);
  ~PairReader();

  std::optional<PairBlock> next();

 private:
  class Stream;
  bool add_pair(PairBlock& block);
  void open(const PairFiles& input);
  [[noreturn]] void fail_lengths(uint64_t source_lines, uint64_t target_lines) const;

  std::vector<PairFiles> inputs_;
  text::Invalid invalid_;
  size_t input_ = 0;     // the open input, or the next one
  uint64_t number_ = 0;  // number of the last pair read, over all inputs
  std::unique_ptr<Stream> source_, target_, numbers_;
};

}  // namespace residual::data
