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

// Phrases that a translation must contain, in any order, each in a place of its own and in whole
// words. What a hypothesis has of them is counted in tokens, so that a search can keep some with
// all numbers of them (dynamic beam allocation: Post and Vilar 2018, Hu et al. 2019).
class Phrases {
 public:
  static constexpr size_t kMost = 64;
  // REQUIRES: from 1 to kMost, none of them empty. `joints` may be null: all symbols are words.
  explicit Phrases(std::vector<std::vector<int32_t>> phrases,
                   std::shared_ptr<const Joints> joints = nullptr);

  static constexpr int32_t kNone = -1;
  struct Progress {
    uint64_t met = 0;              // a bit for each phrase
    int32_t token = kNone;         // the last one
    int32_t completed = kNone;     // phrase that it completed
    int32_t begun = 0;             // so many last tokens begin a phrase that is not met
    int32_t begun_phrase = kNone;  // one of those they begin
  };
  Progress after(const Progress& progress, int32_t token) const;
  int64_t tokens(const Progress& progress) const;  // of phrases met and begun
  bool are_met(const Progress& progress) const { return progress.met == all_; }
  // Tokens with which a phrase goes on or begins.
  void append_next(const Progress& progress, std::vector<int32_t>& tokens) const;

  const std::vector<std::vector<int32_t>>& phrases() const { return phrases_; }
  int64_t tokens() const { return total_; }  // of all of them

 private:
  bool is_within_word(int32_t previous) const {  // what comes after it
    return joints_ && previous != kNone && joints_->with_next(previous);
  }
  // Notes the phrase that the tokens complete, or else one that they begin.
  bool match(const std::vector<int32_t>& tokens, Progress& progress) const;

  std::vector<std::vector<int32_t>> phrases_;
  std::shared_ptr<const Joints> joints_;
  uint64_t all_ = 0;
  int64_t total_ = 0;
};

}  // namespace residual::decode
