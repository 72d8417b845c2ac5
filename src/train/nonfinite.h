#pragma once

#include <span>
#include <string>

#include "run/corpora.h"
#include "train/learner.h"

// Locates and saves the computation that made a loss or a gradient infinite or NaN.
namespace residual::train {

struct Finding {
  std::string place;  // "encoder.layers.3.feed_forward: 12 of 8,192 elements of its output"
  data::Batch shard;  // the sentences of that computation
  nn::Pass pass;
};

// Repeats the update shard by shard and checks every block. Dropout is a function of an element's
// place, so the repetition is exact. Overwrites the learner's gradients.
Finding find_nonfinite(Learner& learner, const run::TrainConfig& config,
                       std::span<const data::Batch> batches, int64_t update);

// Writes a directory from which --replay repeats the computation: configuration, parameters and
// optimiser state before the update, and the shard.
void write_bundle(const fs::path& path, const run::TrainConfig& config,
                  const run::Checkpoint& before, const Finding& finding, const std::string& lines,
                  FileSystem& system = FileSystem::real());

// Repeats the computation of a bundle. Returns a table of every block's input and output and of
// every parameter's gradient: mean and largest absolute value, number of elements not finite.
std::string replay(const fs::path& bundle);

}  // namespace residual::train
