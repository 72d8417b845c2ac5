#pragma once

#include <cstdint>
#include <vector>

#include "base/files.h"
#include "model/directory.h"

namespace residual::run {

// Selects checkpoints of a run. An empty choice selects every checkpoint the run has kept.
struct CheckpointChoice {
  int64_t last = 0;              // the K latest
  int64_t best = 0;              // the K best by validation
  int64_t epochs = 0;            // the K latest that end an epoch
  std::vector<int64_t> updates;  // exactly these updates

  bool is_given() const { return last + best + epochs > 0 || !updates.empty(); }
};

struct Mean {
  model::Description description;
  std::vector<std::vector<float>> values;  // in the order of model::parameters()
  fs::path text_from;                      // model that provides the text files
};

// Returns the mean of the parameters of all `inputs`: model directories, bundles, checkpoints and
// selected checkpoints of runs. All inputs must share one configuration and vocabulary.
// Checkpoints are verified.
Mean mean_of(const std::vector<fs::path>& inputs, const CheckpointChoice& choice);

// Writes the average as a model directory and returns that model's description.
model::Description average(const std::vector<fs::path>& inputs, const CheckpointChoice& choice,
                           const fs::path& output);

}  // namespace residual::run
