#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "model/safetensors.h"

namespace residual::model {

// The parameters of one model in an open file, each named `prefix`<name>.
struct WeightsAt {
  const SafeTensors* file;
  std::string prefix;
};

// Returns the arithmetic mean of each parameter, in the order of parameters(config), summed in
// double in the order of `models`. Files are read through their mappings, so only the mean takes
// memory. An Error names a tensor that is missing, has another shape or is not float32.
std::vector<std::vector<float>> average(const std::vector<WeightsAt>& models, const Config& config);

}  // namespace residual::model
