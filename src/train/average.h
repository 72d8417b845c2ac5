#pragma once

#include <cstdint>
#include <vector>

#include "base/files.h"
#include "model/directory.h"

namespace residual::train {

// Of the checkpoints of a run; without any of them, all that it has kept.
struct CheckpointChoice {
  int64_t last = 0;              // the K latest
  int64_t best = 0;              // the K best by validation
  int64_t epochs = 0;            // the K latest at the end of an epoch
  std::vector<int64_t> updates;  // those of these updates
};

// Writes a model whose parameters are the mean of those of all `inputs`: model directories,
// checkpoints and chosen checkpoints of runs, of one configuration. Checkpoints are verified.
// Returns the description of what was written.
model::Description average(const std::vector<fs::path>& inputs, const CheckpointChoice& choice,
                           const fs::path& output);

}  // namespace residual::train
