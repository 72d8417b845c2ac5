#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/config.h"

// Selection of the training pairs.
namespace residual::data {

// The text in which words are counted: raw, tokenised, or in sub-words.
enum class CleanStage { none, raw, tokens, pieces };
constexpr auto names(CleanStage) { return std::array{"none", "raw", "tokens", "pieces"}; }
enum class Duplicates { keep, pairs, sources, targets };
constexpr auto names(Duplicates) { return std::array{"keep", "pairs", "sources", "targets"}; }
enum class Overlap { keep, pairs, sentences };
constexpr auto names(Overlap) { return std::array{"keep", "pairs", "sentences"}; }

struct CleanOptions {
  CleanStage stage = CleanStage::tokens;
  int64_t min_words = 1;
  int64_t max_words = 250;
  double max_ratio = 9;
  int64_t max_word_characters = 1000;
  bool remove_bars = false;
  bool drop_identical = false;
  Duplicates duplicates = Duplicates::pairs;
  Overlap overlap = Overlap::pairs;
};
void fields(ConfigVisitor& visit, CleanOptions& options);

// The reason for dropping a pair.
enum class Verdict {
  kept,
  empty,
  too_short,
  too_long,
  ratio,
  long_word,
  identical,
  duplicate,
  overlap
};
constexpr size_t kVerdicts = 9;
std::string_view reason(Verdict verdict);  // "empty", "too short", ...

// Moses' clean-corpus-n rules for one pair: white space is trimmed and becomes single spaces, and
// '|' is removed if remove_bars is set. The pair is dropped if a side is then empty, has too many
// or too few words, if the sides' lengths differ too much, or if a word is too long.
class Cleaner {
 public:
  explicit Cleaner(const CleanOptions& options) : options_(options) {}

  // clean-corpus-n treats text whose first pair has a '|' as factored and keeps its bars.
  void see_first(std::string_view source, std::string_view target);

  // Replaces both sides with their cleaned text. Returns a verdict up to Verdict::long_word.
  Verdict operator()(std::string& source, std::string& target) const;

 private:
  CleanOptions options_;
  bool factored_ = false;
};

// The number of pairs for each verdict.
struct Verdicts {
  std::array<uint64_t, kVerdicts> count{};
  uint64_t& operator[](Verdict verdict) { return count[static_cast<size_t>(verdict)]; }
  uint64_t operator[](Verdict verdict) const { return count[static_cast<size_t>(verdict)]; }
  uint64_t dropped() const;
};

}  // namespace residual::data
