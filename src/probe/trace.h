#pragma once

#include <vector>

#include "nn/transformer.h"

namespace residual::probe {

using schemes::Side;

// The inputs and outputs of one stack's blocks in one forward pass, without dropout.
struct StackTrace {
  Side side = Side::encoder;
  int per_layer = 2;
  Tensor embedded;              // x_1
  std::vector<Tensor> inputs;   // input of block k
  std::vector<Tensor> outputs;  // output f_k of block k
  Tensor y;

  int blocks() const { return static_cast<int>(outputs.size()); }
  int layers() const { return blocks() / per_layer; }
};

// Collects the traces of a pass, encoder first if the model has both stacks.
class Tracer final : public nn::Watcher {
 public:
  explicit Tracer(const model::Config& config) : config_(config) {}

  void embedded(Side side, const Tensor& x) override;
  void block(Side side, int k, const Tensor& input, const Tensor& output) override;
  void stack(Side side, const Tensor& y) override;

  const std::vector<StackTrace>& stacks() const { return stacks_; }

 private:
  const model::Config& config_;
  std::vector<StackTrace> stacks_;
};

}  // namespace residual::probe
