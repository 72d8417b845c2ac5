#pragma once

#include <array>
#include <string>
#include <string_view>

namespace residual::metrics {

// The ways in which BLEU splits a line into words.
enum class BleuTokenizer {
  none,       // at white space only
  v13a,       // mteval-v13a: ASCII punctuation, WMT's choice
  intl,       // mteval-v14's international mode: Unicode punctuation and symbols
  character,  // every character that is not white space
  zh,         // every Chinese character, and 13a between them
};
// As in sacreBLEU's signatures.
constexpr auto names(BleuTokenizer) { return std::array{"none", "13a", "intl", "char", "zh"}; }

// Returns the line with white space between its words.
std::string tokenize(BleuTokenizer tokenizer, std::string_view line);

// Tercom's normalisation.
struct TercomOptions {
  bool normalized = false;      // separate punctuation, undo XML escapes
  bool no_punct = false;        // drop punctuation
  bool asian_support = false;   // let the two above treat Chinese and Japanese too
  bool case_sensitive = false;  // else lower-case first
};

// Returns the words with one space between them.
std::string tercom_tokenize(const TercomOptions& options, std::string_view line);

}  // namespace residual::metrics
