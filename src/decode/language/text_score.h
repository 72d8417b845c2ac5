#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decode/language/text_side.h"
#include "decode/weights.h"

namespace residual::decode {

// How probable a model finds text. Natural logarithms.
struct TextScore {
  uint64_t documents = 0;
  uint64_t tokens = 0;   // </s> of each document included
  uint64_t words = 0;    // between white space
  uint64_t bytes = 0;    // of UTF-8
  uint64_t unknown = 0;  // <unk> among the tokens
  double log_probability = 0;

  void add(const TextScore& other);
  double perplexity(uint64_t units) const;  // per token, word or byte
  double bits_per_byte() const;
};

struct TextScoreOptions {
  int64_t window = 0;    // tokens that the model reads at once, at most; 0: all its positions
  int64_t context = -1;  // of them repeated from the window before; -1: half of them
};

// Scores documents, each from its beginning to its </s>, on all cores. A document of more tokens
// than the window is read in several; every token is scored once, with at least `context` tokens
// before it, or all there are. A document's score depends on it alone. Of several models, the mean
// probability of each token.
class TextScorer {
 public:
  TextScorer(std::vector<std::shared_ptr<const Weights>> models, TextSide side,
             const TextScoreOptions& options);

  // Errors name the document, counted from `first`.
  std::vector<TextScore> score(std::span<const std::string> documents, uint64_t first = 1) const;

 private:
  std::vector<std::shared_ptr<const Weights>> models_;
  TextSide side_;
  int64_t window_, context_;
};

}  // namespace residual::decode
