#pragma once

#include <cstdint>
#include <vector>

#include "base/files.h"
#include "model/directory.h"

namespace residual::run {

// Of the checkpoints of a run; without any of them, all that it has kept.
struct CheckpointChoice {
  int64_t last = 0;              // the K latest
  int64_t best = 0;              // the K best by validation
  int64_t epochs = 0;            // the K latest at the end of an epoch
  std::vector<int64_t> updates;  // those of these updates

  bool is_given() const { return last + best + epochs > 0 || !updates.empty(); }
};

struct Mean {
  model::Description description;
  std::vector<std::vector<float>> values;  // in the order of model::parameters()
  fs::path text_from;                      // model with the text files
};

// The mean of the parameters of all `inputs`: model directories, bundles, checkpoints and chosen
// checkpoints of runs, of one configuration and vocabulary. Checkpoints are verified.
Mean mean_of(const std::vector<fs::path>& inputs, const CheckpointChoice& choice);

// Writes it as a model directory. Returns the description of what was written.
model::Description average(const std::vector<fs::path>& inputs, const CheckpointChoice& choice,
                           const fs::path& output);

}  // namespace residual::run
