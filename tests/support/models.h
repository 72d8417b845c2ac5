#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/random.h"
#include "decode/weights.h"
#include "interop/fairseq.h"
#include "model/parameters.h"

namespace residual::test {

// Parameters of a model in memory, by name.
struct ModelValues {
  model::Config config;
  std::map<std::string, std::vector<float>> values;

  std::map<std::string, std::span<const float>> spans() const {
    return {values.begin(), values.end()};
  }
  std::shared_ptr<const decode::Weights> weights(
      decode::Precision precision = decode::Precision::float32) const {
    return decode::copy_weights(config, spans(), precision);
  }
};

// First values of the scheme, with biases, norms and scalars moved off 0 and 1 so that a mistake
// in them shows.
inline ModelValues random_model(const model::Config& config, uint64_t seed = 1) {
  ModelValues made{config, {}};
  for (const auto& p : model::parameters(config)) {
    auto& values = made.values[p.name];
    values.resize(p.size());
    model::initialise(p, config, seed, values);
    const Random random(seed + 1, checksum(p.name));
    if (p.shape.size() > 1) continue;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] += static_cast<float>(0.4 * random.uniform(i) - 0.2);
    }
  }
  return made;
}

// A small model of every kind of matrix: widths that are no multiple of a vector's.
inline model::Config small_config(const std::string& scheme = "resi-dual") {
  model::Config config;
  config.encoder_layers = 2;
  config.decoder_layers = 3;
  config.width = 24;
  config.inner = 40;
  config.heads = 3;
  config.max_positions = 64;
  config.source_vocabulary = config.target_vocabulary = 50;
  config.residual.name = scheme;
  return config;
}

inline ModelValues fairseq_model(const model::SafeTensors& file) {
  const std::string prefix = "param.";
  ModelValues made{interop::fairseq_config(file, {.prefix = prefix}), {}};
  const auto values = interop::fairseq_values(file, made.config, prefix);
  const auto parameters = model::parameters(made.config);
  for (size_t i = 0; i < parameters.size(); ++i) made.values[parameters[i].name] = values[i];
  return made;
}

}  // namespace residual::test
