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
// if the run keeps one, as average.<name>; docs/formats.md has the rest. It is durable before it
// has its name, and carries a checksum of all that is in it.
namespace residual::run {

// Flat buffers in the order of model::parameters().
struct Checkpoint {
  std::vector<float> values, m, v;
  std::vector<float> average = {};  // empty: the run keeps none
  State state = {};

  // Of the model that it stands for.
  const std::vector<float>& model_values() const { return average.empty() ? values : average; }
};

void write_checkpoint(const fs::path& path, const model::Config& config,
                      const Checkpoint& checkpoint, FileSystem& system = FileSystem::real());

// Fails if the file is damaged or is not a checkpoint of this architecture.
Checkpoint read_checkpoint(const fs::path& path, const model::Config& config);

// Its state alone. Reads and checks the whole file: what it returns can be trusted.
State verify_checkpoint(const fs::path& path);

// Before the names of the model that an open checkpoint stands for: "average." or "model.".
std::string model_prefix(const model::SafeTensors& checkpoint);

// That model's tensors, under their names in a model directory.
std::vector<model::TensorBytes> model_tensors(const model::SafeTensors& checkpoint);

std::string checkpoint_name(int64_t update);

// The checkpoints of a directory.
class CheckpointStore {
 public:
  CheckpointStore(fs::path directory, model::Config config,
                  FileSystem& system = FileSystem::real());

  void write(const Checkpoint& checkpoint) const;
  // Of those up to `update`, removes all but the `keep_last` latest and those in `keep`. Later ones
  // were damaged when the run went on from one before them.
  void prune(int64_t update, int64_t keep_last, const std::set<int64_t>& keep) const;

  std::map<int64_t, fs::path> list() const;  // by update
  // The newest that is sound; each damaged one on the way costs a warning. Nothing if there is no
  // checkpoint; an Error if all are damaged.
  std::optional<Checkpoint> newest() const;

 private:
  fs::path directory_;
  model::Config config_;
  FileSystem& system_;
};

}  // namespace residual::run
