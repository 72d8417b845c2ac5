#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/batcher.h"
#include "nn/transformer.h"
#include "run/checkpoint.h"
#include "run/config.h"
#include "run/state.h"
#include "train/optimizer.h"
#include "train/ranks/device_link.h"
#include "train/ranks/peers.h"
#include "train/ranks/slices.h"

namespace residual::train {

// Parses "cpu", "cuda" or "cuda:1". Throws an Error if the machine has no such device.
at::Device device_of(const std::string& name);

// Builds the model's input from the sentences, according to the model's kind. For a masked model,
// the pass determines which tokens are hidden.
nn::ModelBatch model_batch(const run::TrainConfig& config, const data::Batch& batch,
                           const nn::Pass& pass, at::Device device);

ops::LossSpec loss_spec(const run::LossConfig& config);

struct UpdateStep {
  int64_t number = 1;  // number of the update, from 1
  double learning_rate = 0;
  double loss_scale = 1;
};

struct UpdateResult {
  run::Sums sums;
  bool finite = true;  // loss and gradient are finite; if not, nothing was changed
};

// A model in training: parameters, one replica of them per worker, and the optimiser. Every batch
// of an update is cut into shards, equally many for each worker. Each worker sums the gradients of
// its shards, and the workers' gradients are added in the order of the workers. An update therefore
// depends on configuration, parameters and batches, but not on the number of threads or processes.
class Learner {
 public:
  // REQUIRES: the configuration is resolved. Sets the operators of the whole process (train.ops).
  // Each of several processes runs its share of the workers and holds all parameters, but updates
  // only its slices of them, and has the optimiser's values only for those. `peers` must outlive
  // the learner. All processes make the calls that are marked collective. Processes with a worker
  // each may exchange through a link between their devices; without one, GPUs open their own.
  explicit Learner(const run::TrainConfig& config, const Peers& peers = Peers::alone(),
                   std::unique_ptr<DeviceLink> link = nullptr);

  // Runs forward, backward and Adam. The gradient is that of the mean loss over all predictions.
  // Collective.
  UpdateResult update(std::span<const data::Batch> batches, const UpdateStep& step);

  // Returns the sums over batches without dropout, added in the order of the batches. Uses the
  // average of the parameters if there is one. Collective.
  run::Sums evaluate(std::span<const data::Batch> batches);

  // Returns the parameters without the gaps between them.
  std::vector<float> parameter_values() const { return packed(parameters().values()); }

  // Lets the scheme set its data-dependent parameters from one batch, before training.
  void calibrate(const data::Batch& batch);

  // Cuts a batch into n shards; worker w gets shards [w n / workers, (w + 1) n / workers).
  std::vector<data::Batch> cut(const data::Batch& batch) const;
  nn::Pass pass(int64_t update, size_t batch, size_t shard) const;
  const nn::Transformer& model() const { return *workers_[0].model; }
  const nn::Parameters& parameters() const { return *workers_[0].parameters; }
  const nn::Parameters& parameters(size_t worker) const { return *workers_[worker].parameters; }
  at::Device device() const { return device_; }

  // Returns a checkpoint without the gaps between parameters and with an empty state, in process 0;
  // the others get an empty one. Collective, and so are the next three.
  run::Checkpoint checkpoint() const;
  std::vector<float> model_values() const;  // the same as checkpoint().model_values()
  // Takes process 0's checkpoint. Moments that it lacks stay as they are.
  void restore(run::Checkpoint checkpoint);
  // Completes the gradient of the last update in process 0, for observers.
  void collect_gradient();

 private:
  struct Worker {
    std::unique_ptr<nn::Parameters> parameters;
    std::unique_ptr<nn::Transformer> model;
  };
  // One shard of an update.
  struct Shard {
    data::Batch batch;
    nn::Pass pass;
  };
  run::Sums run_worker(size_t worker, std::span<const Shard> shards, double loss_scale,
                       GradientSum* sum);
  std::vector<run::Sums> run_workers(const std::vector<std::vector<Shard>>& parts,
                                     double loss_scale);
  void gather(const Tensor& values) const;  // completes it from the slices of all processes
  std::vector<float> packed(const Tensor& flat) const;
  std::vector<float> collected(const Tensor& slices) const;
  void unpack(std::span<const float> values, const Tensor& to) const;

  run::TrainConfig config_;
  const Peers& peers_;
  at::Device device_;
  std::unique_ptr<DeviceLink> link_;  // null: slices travel from memory to memory
  std::vector<Worker> workers_;       // workers of this process
  std::optional<Slices> slices_;
  std::vector<int> stages_;  // of the buckets
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace residual::train
