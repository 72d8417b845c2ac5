#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "text/vocabulary.h"

namespace residual::decode {

// Which symbols of a vocabulary are one word with what comes before or after them: pieces of BPE
// that end in "@@", and, if any symbol has SentencePiece's mark of a space, letters without it.
class Joints {
 public:
  explicit Joints(const text::Vocabulary& vocabulary);
  bool with_previous(int32_t symbol) const { return (joints_[symbol] & kPrevious) != 0; }
  bool with_next(int32_t symbol) const { return (joints_[symbol] & kNext) != 0; }

 private:
  static constexpr uint8_t kPrevious = 1, kNext = 2;
  std::vector<uint8_t> joints_;
};

// Phrases that a translation must contain, in whole words and in any order; one may be a part of
// another. What a hypothesis has of them is counted in tokens, so that a search can keep some with
// all numbers of them (dynamic beam allocation: Post and Vilar 2018, Hu et al. 2019).
class Phrases {
 public:
  static constexpr size_t kMost = 64;
  // REQUIRES: from 1 to kMost, none of them empty. `joints` may be null: all symbols are words.
  explicit Phrases(std::vector<std::vector<int32_t>> phrases,
                   std::shared_ptr<const Joints> joints = nullptr);

  struct Progress {
    uint64_t met = 0;           // a bit for each phrase
    uint64_t completed = 0;     // those that the last token completed
    std::vector<int32_t> last;  // tokens: those that the beginning of a phrase may be among
  };
  Progress after(const Progress& progress, int32_t token) const;
  int64_t tokens(const Progress& progress) const;  // of phrases met, and of the most that is begun
  bool are_met(const Progress& progress) const { return progress.met == all_; }
  // Tokens with which a phrase goes on or begins.
  void append_next(const Progress& progress, std::vector<int32_t>& tokens) const;

  const std::vector<std::vector<int32_t>>& phrases() const { return phrases_; }
  int64_t tokens() const { return total_; }  // of all of them

 private:
  static bool is_met(const Progress& progress, size_t phrase) {
    return (progress.met >> phrase & 1) != 0;
  }
  // Whether the last `count` tokens are the phrase's first ones and begin a word.
  bool ends_with(const std::vector<int32_t>& last, const std::vector<int32_t>& phrase,
                 size_t count) const;
  // As many last tokens as possible that begin the phrase, but not all of it.
  size_t begun(const std::vector<int32_t>& last, const std::vector<int32_t>& phrase) const;

  std::vector<std::vector<int32_t>> phrases_;
  std::shared_ptr<const Joints> joints_;
  uint64_t all_ = 0;
  int64_t total_ = 0;
  size_t longest_ = 0;
};

}  // namespace residual::decode
