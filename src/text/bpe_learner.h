#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "text/word_counts.h"

// Byte pair encoding of words (Sennrich, Haddow and Birch 2016), learnt as subword-nmt 0.3.8
// learns it: the same merges in the same order.
namespace residual::text {

struct BpeLearnOptions {
  int64_t merges = 10000;
  int64_t min_frequency = 2;   // stop when no pair is as frequent as this
  bool total_symbols = false;  // `merges` counts the characters too
};

using BpeMerge = std::pair<std::string, std::string>;

// REQUIRES: well-formed UTF-8 words, none empty; min_frequency > 0.
std::vector<BpeMerge> learn_bpe(const WordCounts& words, const BpeLearnOptions& options);

// Returns the text of a codes file, version 0.2.
std::string format_codes(std::span<const BpeMerge> merges);

// Adds the words of a line of text, separated by spaces. As in subword-nmt, a '\r' also separates
// words, and a word also ends after each other character at which Python ends a line.
void count_bpe_words(std::string_view line, WordCounts& counts);

// Calls body(word, count) for each line. Each line must be a word, a space and a count; an Error
// names a line that is not.
void for_each_word_count(const fs::path& file, Invalid invalid,
                         const std::function<void(std::string_view, uint64_t)>& body);

}  // namespace residual::text
