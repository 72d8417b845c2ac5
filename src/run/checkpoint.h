#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "model/config.h"
#include "model/safetensors.h"
#include "run/state.h"

// A checkpoint is one safetensors file, <update in nine digits>.safetensors, with the parameters
// as model.<name>, Adam's moments as adam.m.<name> and adam.v.<name>, and the parameters' average,
// if the run keeps one, as average.<name>; docs/formats.md has the rest. The file is on disk before
// it gets its name, and it carries a checksum of its whole content.
namespace residual::run {

// Flat buffers in the order of model::parameters().
struct Checkpoint {
  std::vector<float> values, m, v;
  std::vector<float> average = {};  // empty: the run keeps no average
  State state = {};

  // The values of the model that the checkpoint represents: the average if there is one.
  const std::vector<float>& model_values() const { return average.empty() ? values : average; }
};

void write_checkpoint(const fs::path& path, const model::Config& config,
                      const Checkpoint& checkpoint, FileSystem& system = FileSystem::real());

// Reads a checkpoint. Fails if the file is damaged or belongs to another architecture.
Checkpoint read_checkpoint(const fs::path& path, const model::Config& config);

// Reads only the state, but verifies the checksum of the whole file.
State verify_checkpoint(const fs::path& path);

// The prefix of the tensors of the model that an open checkpoint represents: "average." or
// "model.".
std::string model_prefix(const model::SafeTensors& checkpoint);

// The tensors of that model, under the names they have in a model directory.
std::vector<model::TensorBytes> model_tensors(const model::SafeTensors& checkpoint);

std::string checkpoint_name(int64_t update);

// The checkpoints in one directory.
class CheckpointStore {
 public:
  CheckpointStore(fs::path directory, model::Config config,
                  FileSystem& system = FileSystem::real());

  void write(const Checkpoint& checkpoint) const;
  // Removes the checkpoints up to `update`, except the `keep_last` latest and those in `keep`.
  // Checkpoints after `update` were found damaged when the run resumed from an earlier one.
  void prune(int64_t update, int64_t keep_last, const std::set<int64_t>& keep) const;

  std::map<int64_t, fs::path> list() const;  // by update
  // Returns the newest sound checkpoint and warns about each damaged one it passes over. Returns
  // nothing if there is no checkpoint; throws an Error if all are damaged.
  std::optional<Checkpoint> newest() const;

 private:
  fs::path directory_;
  model::Config config_;
  FileSystem& system_;
};

}  // namespace residual::run
