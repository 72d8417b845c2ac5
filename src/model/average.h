#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "model/safetensors.h"

namespace residual::model {

// The parameters of one model in an open file, each under `prefix`<name>.
struct WeightsAt {
  const SafeTensors* file;
  std::string prefix;
};

// The arithmetic mean of each parameter, summed in double in the order of `models`, in the order
// of parameters(config). Files are read where they are mapped: only the mean takes memory. An
// Error names a tensor that is missing, has another shape or is not float32.
std::vector<std::vector<float>> average(const std::vector<WeightsAt>& models, const Config& config);

}  // namespace residual::model
