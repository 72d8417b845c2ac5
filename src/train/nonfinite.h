#pragma once

#include <span>
#include <string>

#include "run/corpora.h"
#include "train/learner.h"

// Finding and keeping what made a loss or a gradient infinite or not a number.
namespace residual::train {

struct Finding {
  std::string place;  // "encoder.layers.3.feed_forward: 12 of 8,192 elements of its output"
  data::Batch shard;  // the sentences that were being computed
  nn::Pass pass;
};

// Computes the update again, shard by shard, watching every block: dropout is a function of its
// place, so this is what happened. The learner's gradients are overwritten.
Finding find_nonfinite(Learner& learner, const run::TrainConfig& config,
                       std::span<const data::Batch> batches, int64_t update);

// Writes a directory from which --replay can repeat the computation: configuration, parameters
// and optimiser before the update, the shard.
void write_bundle(const fs::path& path, const run::TrainConfig& config,
                  const run::Checkpoint& before, const Finding& finding, const std::string& lines,
                  FileSystem& system = FileSystem::real());

// Repeats it and returns a table of every block's input and output and of every parameter's
// gradient: mean and largest absolute values, number of elements that are not finite.
std::string replay(const fs::path& bundle);

}  // namespace residual::train
