#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/config.h"

// Which training pairs are worth learning from.
namespace residual::data {

// What the text is when words are counted: as it came, after the tokeniser, or after sub-words.
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

// Why a pair is dropped.
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

// Moses' clean-corpus-n rules, for one pair at a time: white space becomes single spaces and is
// trimmed, '|' goes if remove_bars is set, and the pair is dropped if a side is then empty, has
// too many or too few words, if the sides' lengths differ too much, or if a word is too long.
class Cleaner {
 public:
  explicit Cleaner(const CleanOptions& options) : options_(options) {}

  // clean-corpus-n takes text whose first pair has a '|' for factored, and lets bars stand.
  void see_first(std::string_view source, std::string_view target);

  // Replaces both sides by their cleaned text. Any verdict up to Verdict::long_word.
  Verdict operator()(std::string& source, std::string& target) const;

 private:
  CleanOptions options_;
  bool factored_ = false;
};

// How many pairs met which fate.
struct Verdicts {
  std::array<uint64_t, kVerdicts> count{};
  uint64_t& operator[](Verdict verdict) { return count[static_cast<size_t>(verdict)]; }
  uint64_t operator[](Verdict verdict) const { return count[static_cast<size_t>(verdict)]; }
  uint64_t dropped() const;
};

}  // namespace residual::data
