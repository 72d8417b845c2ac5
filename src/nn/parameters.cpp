#include "nn/parameters.h"

#include <utility>

#include "base/error.h"

namespace residual::nn {
namespace {

constexpr int64_t kAlignment = 16;  // elements: 64 bytes of float32

}  // namespace

Parameters::Parameters(const model::Config& config, at::ScalarType dtype, at::Device device)
    : config_(config), list_(model::parameters(config)) {
  model::require_trainable(config, "trained or probed");
  int64_t size = 0;
  for (const auto& p : list_) {
    offsets_.push_back(size);
    size += (p.size() + kAlignment - 1) / kAlignment * kAlignment;
  }
  values_ = at::zeros({size}, at::TensorOptions(dtype).device(device));
  make_leaves();
}

Parameters::Parameters(const Parameters& other, Tensor values)
    : config_(other.config_),
      list_(other.list_),
      offsets_(other.offsets_),
      values_(std::move(values)) {
  make_leaves();
}

Parameters Parameters::replica() const { return {*this, values_}; }

void Parameters::make_leaves() {
  gradients_ = at::zeros_like(values_);
  for (size_t i = 0; i < list_.size(); ++i) {
    const auto view = [&](const Tensor& flat) {
      return flat.narrow(0, offsets_[i], list_[i].size()).view(list_[i].shape).detach();
    };
    Tensor leaf = view(values_);
    leaf.set_requires_grad(true);
    leaf.mutable_grad() = view(gradients_);
    leaves_.push_back(std::move(leaf));
    by_name_.emplace(list_[i].name, i);
  }
}

void Parameters::initialise(uint64_t seed) {
  const at::NoGradGuard no_grad;
  std::vector<float> drawn;
  for (size_t i = 0; i < list_.size(); ++i) {
    drawn.resize(list_[i].size());
    model::initialise(list_[i], config_, seed, drawn);
    leaves_[i].copy_(at::from_blob(drawn.data(), list_[i].shape, at::kFloat));
  }
}

const Tensor& Parameters::at(const std::string& name) const {
  const auto found = by_name_.find(name);
  require(found != by_name_.end(), "the model has no parameter {}", name);
  return leaves_[found->second];
}

ops::Affine find_norm(const Parameters& parameters, const std::string& name, double epsilon) {
  const model::Config& config = parameters.config();
  const bool is_rms = config.norm == model::Norm::rms;
  const double given = config.norm_epsilon();
  return {.weight = parameters.at(name + ".weight"),
          .bias = is_rms ? Tensor() : parameters.at(name + ".bias"),
          .epsilon = given > 0 ? given : epsilon,
          .is_rms = is_rms};
}

}  // namespace residual::nn
