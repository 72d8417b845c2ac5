#pragma once

#include "metrics/metric.h"

namespace residual::metrics {

struct ChrfOptions {
  int char_order = 6;
  int word_order = 0;  // 2 is chrF++
  int beta = 2;        // recall counts beta times as much as precision
  bool lowercase = false;
  bool whitespace = false;     // count white space as characters
  bool eps_smoothing = false;  // as chrF++.py, Moses and NLTK, instead of leaving out empty orders
};

// Character n-gram F-score (Popović 2015), with word n-grams chrF++ (Popović 2017), in percent:
//   F_beta = (1 + beta^2) P R / (beta^2 P + R), P and R averaged over orders
class Chrf final : public Metric {
 public:
  explicit Chrf(ChrfOptions options = {});

  std::string name() const override;
  // A row has, for each order, the n-grams of the hypothesis, those of the best reference, and
  // matches.
  Statistics statistics(std::span<const std::string> hypotheses,
                        const References& references) const override;
  double score(std::span<const double> sums) const override;
  double score(std::span<const float> sums) const override;
  Signature signature(size_t references, const Trials& trials = {}) const override;

 private:
  ChrfOptions options_;
};

double corpus_chrf(std::span<const std::string> hypotheses, const References& references,
                   const ChrfOptions& options = {});

}  // namespace residual::metrics
