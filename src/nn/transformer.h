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

// Sees what enters and leaves each block, before the output's dropout; for probes and for finding
// where a number went wrong.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void embedded(schemes::Side side, const Tensor& x) = 0;
  virtual void block(schemes::Side side, int k, const Tensor& input, const Tensor& output) = 0;
  virtual void stack(schemes::Side side, const Tensor& y) = 0;
};

struct DropoutRates {
  double residual = 0;    // on embeddings and on blocks' outputs
  double attention = 0;   // on attention probabilities
  double activation = 0;  // inside feed-forward blocks, after ReLU
};

// What a forward pass depends on besides parameters and batch. Dropout is a function of all of it.
struct Pass {
  bool training = false;
  uint64_t seed = 0;
  uint64_t update = 0;
  uint64_t shard = 0;  // which part of the update's batch
  // Spares memory: the backward pass computes every block again instead of keeping its activations.
  bool recompute = false;
  Watcher* watcher = nullptr;
};

struct Loss {
  Tensor sum;  // over the batch's predictions, to be differentiated
  double nll;  // likewise, of the gold symbols' log probabilities; natural logarithm
  int64_t predictions;
};

// The Transformer of fairseq 0.12: sinusoidal positions, biases everywhere, ReLU, dropout on
// embeddings, attention probabilities, activations and blocks' outputs. Which streams connect the
// blocks is the scheme's business.
class Transformer {
 public:
  // `parameters` must outlive the model.
  Transformer(const Parameters& parameters, const DropoutRates& rates);
  ~Transformer();
  Transformer(Transformer&&) noexcept;

  // Rows from which symbols are predicted: [predictions, d].
  Tensor forward(const Batch& batch, const Pass& pass) const;
  Tensor logits(const Batch& batch, const Pass& pass) const;
  Loss loss(const Batch& batch, const ops::LossSpec& spec, const Pass& pass) const;

  // The encoder's output: [source tokens, d]. REQUIRES: there is an encoder.
  Tensor encode(const Batch& batch, const Pass& pass) const;

  // Lets the schemes set what depends on data (Admin) from one batch.
  void calibrate(const Batch& batch, const Pass& pass);

 private:
  struct Stack;
  struct Ids;
  std::unique_ptr<Stack> make_stack(schemes::Side side) const;
  Tensor run(const Stack& stack, const Ids& in, StackInput input, const Pass& pass,
             bool calibrate) const;
  Tensor run_encoder(const Batch& batch, const Pass& pass, bool calibrate) const;
  Tensor run_all(const Batch& batch, const Pass& pass, bool calibrate) const;
  const Tensor& output_embedding() const;

  const Parameters& parameters_;
  DropoutRates rates_;
  Tensor positions_;
  std::unique_ptr<Stack> encoder_, decoder_;
};

}  // namespace residual::nn
