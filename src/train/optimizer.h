#pragma once

#include <vector>

#include "ops/tensor.h"
#include "run/config.h"
#include "train/adam.h"
#include "train/peers.h"

namespace residual::train {

namespace reference {

// adam.h's update in plain ATen: its definition, and what runs on a GPU.
void adam(const run::OptimizerConfig& config, const AdamStep& step, Tensor& values,
          const Tensor& gradient, Tensor& m, Tensor& v);
void average(const run::OptimizerConfig& config, int64_t number, const Tensor& values,
             Tensor& average);

}  // namespace reference

// Adam's moments of one flat buffer of parameters, and their moving average if there is one.
class Optimizer {
 public:
  Optimizer(const run::OptimizerConfig& config, const Tensor& values);

  // One gradient from the workers' of all processes, in the first of them; its norm.
  double reduce(const std::vector<Tensor>& gradients, double scale, const Peers& peers) const;
  void step(Tensor& values, const Tensor& gradient, const AdamStep& step);

  Tensor& m() { return m_; }
  Tensor& v() { return v_; }
  Tensor& average() { return average_; }  // undefined without optimizer.average_decay

 private:
  run::OptimizerConfig config_;
  Tensor m_, v_, average_;
};

}  // namespace residual::train
