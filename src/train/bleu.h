#pragma once

#include <span>
#include <string>
#include <vector>

#include "run/config.h"
#include "run/corpora.h"

namespace residual::train {

// Computes BLEU of the dev texts, translated by the decoding engine with the given parameters (in
// the order of model::parameters()): sacreBLEU's default on raw text, averaged over the dev
// corpora. As in fairseq's validation, a translation has at most 1.2 S + 10 tokens.
class DevBleu {
 public:
  // Reads the texts. Throws an Error if a dev corpus has no raw text.
  DevBleu(const run::Corpora& corpora, const run::TrainConfig& config);

  struct Sample {
    std::string source, reference, hypothesis;
  };
  struct Result {
    double bleu = 0;
    std::vector<Sample> samples;  // the same sentences each time
  };
  Result score(std::span<const float> values) const;

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
