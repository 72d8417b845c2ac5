#pragma once

#include <memory>

#include "model/config.h"
#include "nn/arithmetic.h"
#include "nn/batch.h"
#include "nn/blocks.h"
#include "nn/parameters.h"
#include "ops/loss.h"
#include "schemes/scheme.h"

namespace residual::nn {

// Observes the input and output of each block, before the output's dropout. Probes and the search
// for values that are not finite use it.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void embedded(schemes::Side side, const Tensor& x) = 0;
  virtual void block(schemes::Side side, int k, const Tensor& input, const Tensor& output) = 0;
  virtual void stack(schemes::Side side, const Tensor& y) = 0;
};

// Hears, during the backward pass, that the gradients of all parameters of block k of a stack, and
// of the blocks above it, are final.
class BackwardWatcher {
 public:
  virtual ~BackwardWatcher() = default;
  virtual void passed(schemes::Side side, int k) = 0;
};

struct DropoutRates {
  double residual = 0;    // on embeddings and on blocks' outputs
  double attention = 0;   // on attention probabilities
  double activation = 0;  // inside feed-forward blocks, after the activation
};

// The inputs of a forward pass besides parameters and batch. Dropout is a function of them.
struct Pass {
  bool training = false;
  uint64_t seed = 0;
  uint64_t update = 0;
  uint64_t shard = 0;  // number of the part within the update's batch
  // Saves memory: the backward pass computes every block again instead of keeping its activations.
  bool recompute = false;
  Watcher* watcher = nullptr;
  BackwardWatcher* backward = nullptr;  // outlives the backward pass
};

struct Loss {
  Tensor sum;  // over the batch's predictions, to be differentiated
  double nll;  // sum of -log p of the gold symbols; natural logarithm
  int64_t predictions;
};

// A Transformer; with the configuration's defaults that of fairseq 0.12: sinusoidal positions,
// biases everywhere, ReLU, dropout on embeddings, attention probabilities, activations and blocks'
// outputs. The scheme determines the streams that connect the blocks.
class Transformer {
 public:
  // `parameters` must outlive the model.
  Transformer(const Parameters& parameters, const DropoutRates& rates);
  ~Transformer();
  Transformer(Transformer&&) noexcept;

  // Returns the rows from which symbols are predicted: [predictions, d].
  Tensor forward(const ModelBatch& batch, const Pass& pass) const;
  Tensor logits(const ModelBatch& batch, const Pass& pass) const;
  Loss loss(const ModelBatch& batch, const ops::LossSpec& spec, const Pass& pass) const;

  // Returns the encoder's output: [source tokens, d]. REQUIRES: there is an encoder.
  Tensor encode(const ModelBatch& batch, const Pass& pass) const;

  // Lets the schemes set their data-dependent parameters (Admin) from one batch.
  void calibrate(const ModelBatch& batch, const Pass& pass);

 private:
  struct Stack;
  struct Ids;
  std::unique_ptr<Stack> make_stack(schemes::Side side) const;
  Tensor run(const Stack& stack, const Ids& in, StackInput input, const Pass& pass,
             bool calibrate) const;
  Tensor run_encoder(const ModelBatch& batch, const Pass& pass, bool calibrate) const;
  Tensor run_all(const ModelBatch& batch, const Pass& pass, bool calibrate) const;
  Tensor embed(const Stack& stack, const Ids& in, const ops::Dropout& dropout) const;
  const Tensor& output_embedding() const;

  const Parameters& parameters_;
  DropoutRates rates_;
  Tensor positions_;  // sinusoids, or a row of zeros
  Tensor turns_;      // of rotary positions
  std::unique_ptr<Stack> encoder_, decoder_;
};

}  // namespace residual::nn
