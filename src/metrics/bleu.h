#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric.h"
#include "metrics/tokenizers.h"

namespace residual::metrics {

// Smoothing of an n-gram order without a match (Chen and Cherry 2014, W14-3346).
enum class Smoothing {
  none,     // the score is 0
  floor,    // method 1: `smoothing_value` matches, 0.1 unless given
  add_k,    // method 2: k more matches and n-grams for n > 1; k = 1 unless given
  doubled,  // "exp", method 3, as in mteval-v13a: 1/2, 1/4, 1/8 ... of a match
};
constexpr auto names(Smoothing) { return std::array{"none", "floor", "add-k", "exp"}; }

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::v13a;
  bool lowercase = false;
  Smoothing smoothing = Smoothing::doubled;
  std::optional<double> smoothing_value;
  int max_order = 4;
  bool effective_order = false;  // skip orders longer than the hypothesis: for sentences
};

// BLEU = BP * exp(mean_n log p_n), BP = exp(1 - r/c) if c < r (Papineni et al. 2002), in percent.
// Vectors are indexed by order - 1.
struct BleuScore {
  double score = 0;
  std::vector<double> counts, totals;  // after smoothing; whole numbers if k is whole
  std::vector<double> precisions;      // percent
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0, reference_length = 0;

  double ratio() const;
  std::string details() const;            // "92.4/88.3/82.5/75.4 (BP = 0.989 ratio = ...)"
  std::string text(int width = 2) const;  // "BLEU = 83.47 92.4/..."
};

class Bleu final : public Metric {
 public:
  explicit Bleu(BleuOptions options = {});

  std::string name() const override { return "BLEU"; }
  // A row has the hypothesis length, the closest reference length, and matches and n-grams by
  // order.
  Statistics statistics(std::span<const std::string> hypotheses,
                        const References& references) const override;
  double score(std::span<const double> sums) const override { return bleu(sums).score; }
  double score(std::span<const float> sums) const override;
  bool scores_in_float() const override { return false; }
  std::string details(std::span<const double> sums) const override { return bleu(sums).details(); }
  Signature signature(size_t references, const Trials& trials = {}) const override;

  BleuScore bleu(std::span<const double> sums) const;

 private:
  BleuOptions options_;
};

BleuScore corpus_bleu(std::span<const std::string> hypotheses, const References& references,
                      const BleuOptions& options = {});

// BLEU of one sentence. sacreBLEU recommends effective_order for it.
BleuScore sentence_bleu(const std::string& hypothesis, const std::vector<std::string>& references,
                        const BleuOptions& options = {.effective_order = true});

// Returns rows as Bleu::statistics does, for any word splitting: `words_of` fills `words` with
// views of `buffer`, `line` or constants. Empty reference words match nothing.
using WordsOf = std::function<void(std::string_view line, bool is_reference, std::string& buffer,
                                   std::vector<std::string_view>& words)>;
Statistics bleu_statistics(std::span<const std::string> hypotheses, const References& references,
                           int max_order, const WordsOf& words_of);

// Returns the number of lines that end in " .": a sign of tokenised text, which BLEU should not
// get.
int64_t count_tokenized_ends(std::span<const std::string> lines);

}  // namespace residual::metrics
