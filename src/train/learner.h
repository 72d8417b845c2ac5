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

// "cpu", "cuda", "cuda:1"; an Error if there is no such device here.
at::Device device_of(const std::string& name);

// The sentences as the model's kind takes them. Which tokens a masked model does not see depends
// on the pass.
nn::Batch model_batch(const run::TrainConfig& config, const data::Batch& batch,
                      const nn::Pass& pass, at::Device device);

ops::LossSpec loss_spec(const run::LossConfig& config);

struct UpdateStep {
  int64_t number = 1;  // of the update, from 1
  double learning_rate = 0;
  double loss_scale = 1;
};

struct UpdateResult {
  run::Sums sums;
  bool finite = true;  // loss and gradient; if not, nothing was changed
};

// A model that learns: parameters, one replica of them per worker, optimiser. Every batch of an
// update is cut into shards, as many for each worker; each worker adds up the gradients of its
// shards; the workers' gradients are added in their order. So what an update computes depends on
// configuration, parameters and batches, and not on how many threads or processes ran the workers.
class Learner {
 public:
  // REQUIRES: the configuration is resolved. Sets the operators of the whole process (train.ops).
  // Of several processes each has its share of the workers; all have all parameters. `peers` must
  // outlive it.
  explicit Learner(const run::TrainConfig& config, const Peers& peers = Peers::alone());

  // Forward, backward and Adam; the gradient is that of the mean over all predictions.
  UpdateResult update(std::span<const data::Batch> batches, const UpdateStep& step);

  // The sums over batches without dropout, added in their order; with the average of the
  // parameters if there is one.
  run::Sums evaluate(std::span<const data::Batch> batches);

  // Lets the scheme set what depends on data from one batch, before training.
  void calibrate(const data::Batch& batch);

  // A batch as the workers see it: worker w has the parts [w n / workers, (w + 1) n / workers).
  std::vector<data::Batch> cut(const data::Batch& batch) const;
  nn::Pass pass(int64_t update, size_t batch, size_t shard) const;
  const nn::Transformer& model() const { return *workers_[0].model; }
  const nn::Parameters& parameters() const { return *workers_[0].parameters; }
  const nn::Parameters& parameters(size_t worker) const { return *workers_[worker].parameters; }
  at::Device device() const { return device_; }

  // Without the gaps between parameters, and with an empty state.
  run::Checkpoint checkpoint() const;
  std::vector<float> model_values() const;  // checkpoint().model_values() alone
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
  std::vector<Worker> workers_;  // of this process
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace residual::train
