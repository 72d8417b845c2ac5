#pragma once

#include "metrics/metric.h"
#include "metrics/tokenizers.h"

namespace residual::metrics {

using TerOptions = TercomOptions;

// Translation edit rate (Snover et al. 2006) in percent: the edits to the closest reference over
// the average reference length.
class Ter final : public Metric {
 public:
  explicit Ter(TerOptions options = {}) : options_(options) {}

  std::string name() const override { return "TER"; }
  // A row has the edits and the average reference length.
  Statistics statistics(std::span<const std::string> hypotheses,
                        const References& references) const override;
  double score(std::span<const double> sums) const override;
  double score(std::span<const float> sums) const override;
  Signature signature(size_t references, const Trials& trials = {}) const override;

 private:
  TerOptions options_;
};

double corpus_ter(std::span<const std::string> hypotheses, const References& references,
                  const TerOptions& options = {});

}  // namespace residual::metrics
