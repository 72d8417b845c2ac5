#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/batcher.h"
#include "nn/transformer.h"
#include "run/checkpoint.h"
#include "run/config.h"
#include "run/state.h"
#include "train/optimizer.h"
#include "train/peers.h"

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
  // Each of several processes runs its share of the workers and holds all parameters. `peers` must
  // outlive the learner.
  explicit Learner(const run::TrainConfig& config, const Peers& peers = Peers::alone());

  // Runs forward, backward and Adam. The gradient is that of the mean loss over all predictions.
  UpdateResult update(std::span<const data::Batch> batches, const UpdateStep& step);

  // Returns the sums over batches without dropout, added in the order of the batches. Uses the
  // average of the parameters if there is one.
  run::Sums evaluate(std::span<const data::Batch> batches);

  // Lets the scheme set its data-dependent parameters from one batch, before training.
  void calibrate(const data::Batch& batch);

  // Cuts a batch into n shards; worker w gets shards [w n / workers, (w + 1) n / workers).
  std::vector<data::Batch> cut(const data::Batch& batch) const;
  nn::Pass pass(int64_t update, size_t batch, size_t shard) const;
  const nn::Transformer& model() const { return *workers_[0].model; }
  const nn::Parameters& parameters() const { return *workers_[0].parameters; }
  const nn::Parameters& parameters(size_t worker) const { return *workers_[worker].parameters; }
  at::Device device() const { return device_; }

  // Returns a checkpoint without the gaps between parameters and with an empty state.
  run::Checkpoint checkpoint() const;
  std::vector<float> model_values() const;  // the same as checkpoint().model_values()
  void restore(const run::Checkpoint& checkpoint);

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
  run::Sums run_worker(size_t worker, std::span<const Shard> shards, double loss_scale);
  std::vector<float> packed(const Tensor& flat) const;
  void unpack(std::span<const float> values, const Tensor& flat) const;

  run::TrainConfig config_;
  const Peers& peers_;
  at::Device device_;
  std::vector<Worker> workers_;  // workers of this process
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace residual::train
