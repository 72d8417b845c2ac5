#pragma once

#include <string>
#include <vector>

#include "probe/entropy.h"
#include "probe/gradients.h"
#include "probe/representation.h"
#include "probe/streams.h"

namespace residual::probe {

struct StackMeasurement {
  Side side = Side::encoder;
  int layers = 0, per_layer = 2;
  StackGradients gradients;
  Representation representation;
  std::vector<double> output_changes;
  Shares shares;
  std::vector<bool> passes_sum;  // as in StreamRun
};

struct Measurement {
  double nll = 0;  // nats per prediction
  int64_t predictions = 0;
  std::vector<StackMeasurement> stacks;
  std::vector<AttentionEntropy> entropy;
};

// Takes all measurements of a model on one batch, without dropout. Overwrites the parameters'
// gradients.
Measurement measure(const nn::Parameters& parameters, const nn::ModelBatch& batch,
                    const ops::LossSpec& loss);

}  // namespace residual::probe
