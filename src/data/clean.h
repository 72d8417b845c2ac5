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
inline void fields(ConfigVisitor& visit, CleanOptions& o) {
  visit.choice("stage", o.stage,
               "the text in which words are counted: raw, tokenised, or in sub-words; with none, "
               "no pair is dropped for its length");
  visit("min_words", o.min_words, "pairs with fewer words on a side are dropped", {.min = 0});
  visit("max_words", o.max_words, "pairs with more words on a side are dropped", {.min = 1});
  visit("max_ratio", o.max_ratio,
        "pairs with one side longer than this times the other are dropped", {.min = 1});
  visit("max_word_characters", o.max_word_characters, "pairs with a longer word are dropped",
        {.min = 1});
  visit("remove_bars", o.remove_bars,
        "remove every '|', unless the first pair has one, as Moses' clean-corpus-n does");
  visit("drop_identical", o.drop_identical, "drop pairs whose sides are equal");
  visit.choice("duplicates", o.duplicates,
               "drop a pair seen before, or one whose source or target was seen before");
  visit.choice(
      "overlap", o.overlap,
      "drop training pairs that are in the dev or test files of the same language pair, or "
      "that share a sentence with them");
}

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
