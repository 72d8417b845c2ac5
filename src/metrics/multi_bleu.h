#pragma once

#include "metrics/bleu.h"

namespace residual::metrics {

struct MultiBleuOptions {
  bool lowercase = false;          // ASCII letters, as the script does
  bool unk_never_matches = false;  // a reference's <unk> matches nothing: fairseq's BLEU
};

// BLEU-4 of tokenised text, without smoothing, as Moses' multi-bleu.perl and fairseq print it and
// older papers report it. Words end at ASCII white space.
class MultiBleu final : public Metric {
 public:
  explicit MultiBleu(MultiBleuOptions options = {}) : options_(options) {}

  std::string name() const override { return "multi-BLEU"; }
  Statistics statistics(std::span<const std::string> hypotheses,
                        const References& references) const override;
  double score(std::span<const double> sums) const override { return bleu_.score(sums); }
  double score(std::span<const float> sums) const override { return bleu_.score(sums); }
  bool scores_in_float() const override { return false; }
  std::string details(std::span<const double> sums) const override;
  Signature signature(size_t references, const Trials& trials = {}) const override;

  // Returns the script's line: "BLEU = 27.31, 59.0/33.0/20.7/13.4 (BP=1.000, ratio=...)".
  std::string line(std::span<const double> sums) const;

 private:
  MultiBleuOptions options_;
  Bleu bleu_{{.tokenizer = BleuTokenizer::none, .smoothing = Smoothing::none}};
};

}  // namespace residual::metrics
