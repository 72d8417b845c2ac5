#pragma once

#include <vector>

#include "ops/tensor.h"
#include "run/config.h"
#include "train/adam.h"
#include "train/peers.h"

namespace residual::train {

namespace reference {

// The update of adam.h in plain ATen. It is the definition, and it runs on a GPU.
void adam(const run::OptimizerConfig& config, const AdamStep& step, Tensor& values,
          const Tensor& gradient, Tensor& m, Tensor& v);
void average(const run::OptimizerConfig& config, int64_t number, const Tensor& values,
             Tensor& average);

}  // namespace reference

// Holds Adam's moments of one flat buffer of parameters, and the parameters' moving average if
// there is one.
class Optimizer {
 public:
  Optimizer(const run::OptimizerConfig& config, const Tensor& values);

  // Reduces the workers' gradients of all processes into the first one and returns its norm.
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
