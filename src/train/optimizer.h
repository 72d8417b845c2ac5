#pragma once

#include <vector>

#include "ops/tensor.h"
#include "run/config.h"
#include "train/adam.h"
#include "train/ranks/peers.h"
#include "train/ranks/slices.h"

namespace residual::train {

namespace reference {

// The update of adam.h in plain ATen. It is the definition, and it runs on a GPU.
void adam(const run::OptimizerConfig& config, const AdamStep& step, Tensor& values,
          const Tensor& gradient, Tensor& m, Tensor& v);
void average(const run::OptimizerConfig& config, int64_t number, const Tensor& values,
             Tensor& average);
// Scales the own slices of the gradient and returns the norm of all processes' slices together.
double reduce(const Slices& slices, const Tensor& gradient, double scale, const Peers& peers);

}  // namespace reference

// Holds Adam's moments, and the parameters' moving average if there is one, for the slices of one
// flat buffer of parameters that this process owns. With a single process that is all of it.
class Optimizer {
 public:
  // `slices` must outlive the object.
  Optimizer(const run::OptimizerConfig& config, const Slices& slices, const Tensor& values);

  // Adds the workers' gradients into the first one, scales it and returns its norm. With several
  // processes, the own slices of the only gradient already have the sum of all workers.
  double reduce(const std::vector<Tensor>& gradients, double scale, const Peers& peers) const;
  // Updates the own slices of the values.
  void step(Tensor& values, const Tensor& gradient, const AdamStep& step);
  // Swaps the own slices of the values with the average, if there is one.
  void exchange_average(Tensor& values);

  // One slice after another.
  Tensor& m() { return m_; }
  Tensor& v() { return v_; }
  Tensor& average() { return average_; }  // undefined without optimizer.average_decay

 private:
  double reduce_slices(const Tensor& gradient, double scale, const Peers& peers) const;
  Tensor part(size_t bucket, const Tensor& flat) const;     // the own slice of a flat buffer
  Tensor place(size_t bucket, const Tensor& slices) const;  // and its place among the slices

  run::OptimizerConfig config_;
  const Slices& slices_;
  Tensor m_, v_, average_;
};

}  // namespace residual::train
