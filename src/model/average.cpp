#include "model/average.h"

#include "base/error.h"
#include "model/parameters.h"

namespace residual::model {

std::vector<std::vector<float>> average(const std::vector<WeightsAt>& models,
                                        const Config& config) {
  std::vector<std::vector<float>> means;
  std::vector<double> sum;
  for (const auto& p : parameters(config)) {
    sum.assign(static_cast<size_t>(p.size()), 0);
    for (const auto& [file, prefix] : models) {
      const auto& tensor = file->at(prefix + p.name);
      require(tensor.shape == p.shape, "{}: {} has shape [{}], expected [{}]", file->name(),
              tensor.name, fmt::join(tensor.shape, ", "), fmt::join(p.shape, ", "));
      require(tensor.dtype == Dtype::f32, "{}: {} is {}; only float32 models can be averaged",
              file->name(), tensor.name, name_of(tensor.dtype));
      const auto values = tensor.values<float>();
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    }
    auto& mean = means.emplace_back(sum.size());
    const auto n = static_cast<double>(models.size());
    for (size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<float>(sum[i] / n);
  }
  return means;
}

}  // namespace residual::model
