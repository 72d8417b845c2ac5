#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/parameters.h"
#include "ops/norm.h"
#include "ops/tensor.h"

namespace residual::nn {

// A model's parameters as tensors: views of one flat buffer of values and one of gradients, so
// that an optimiser, a norm or a reduction is one pass over memory. Gradients accumulate in place.
// Each parameter starts at a multiple of 64 bytes; the gaps are zero in both buffers and stay so.
class Parameters {
 public:
  explicit Parameters(const model::Config& config, at::ScalarType dtype = at::kFloat,
                      at::Device device = at::kCPU);

  // Returns a replica for another worker: shared values, separate gradients.
  Parameters replica() const;

  void initialise(uint64_t seed);

  const model::Config& config() const { return config_; }
  const std::vector<model::Parameter>& list() const { return list_; }
  const Tensor& values() const { return values_; }        // flat
  const Tensor& gradients() const { return gradients_; }  // flat

  // Differentiable leaves; .grad() is a view of gradients().
  const Tensor& operator[](size_t i) const { return leaves_[i]; }
  const Tensor& at(const std::string& name) const;
  // The offset of parameter i in the flat buffers.
  int64_t offset(size_t i) const { return offsets_[i]; }

 private:
  Parameters(const Parameters& other, Tensor values);
  void make_leaves();

  model::Config config_;
  std::vector<model::Parameter> list_;
  std::vector<int64_t> offsets_;
  Tensor values_, gradients_;
  std::vector<Tensor> leaves_;
  std::map<std::string, size_t> by_name_;
};

// Finds a norm; `epsilon` is what the scheme asks for, which the configuration may override.
ops::Affine find_norm(const Parameters& parameters, const std::string& name, double epsilon);

}  // namespace residual::nn
