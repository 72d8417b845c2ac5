#pragma once

#include <span>
#include <vector>

#include "run/config.h"
#include "run/corpora.h"

namespace residual::train {

// BLEU of a model's translations of the dev texts, made by the decoding engine from these
// parameters (in the order of model::parameters()): sacreBLEU's default on raw text, the mean over
// the dev corpora. As fairseq validates, a translation has at most 1.2 S + 10 tokens.
class DevBleu {
 public:
  // Reads the texts. An Error if a dev corpus has none.
  DevBleu(const run::Corpora& corpora, const run::TrainConfig& config);

  double score(std::span<const float> values) const;

 private:
  const run::Corpora& corpora_;
  const run::TrainConfig& config_;
  struct Text {
    model::Direction direction;
    std::vector<std::string> sources, references;
  };
  std::vector<Text> texts_;
};

}  // namespace residual::train
