#include "probe/measure.h"

#include <utility>

namespace residual::probe {

Measurement measure(const nn::Parameters& parameters, const nn::ModelBatch& batch,
                    const ops::LossSpec& spec) {
  const nn::Transformer model(parameters, /*rates=*/{});
  Tracer tracer(parameters.config());
  const nn::Loss loss = model.loss(batch, spec, {.watcher = &tracer});
  const auto& stacks = tracer.stacks();

  Measurement m{.nll = loss.nll / static_cast<double>(loss.predictions),
                .predictions = loss.predictions,
                .stacks = {},
                .entropy = measure_entropy(parameters, stacks, batch)};
  auto gradients = measure_gradients(parameters, stacks, loss);
  for (size_t s = 0; s < stacks.size(); ++s) {
    StreamRun streams = measure_streams(parameters, stacks[s]);
    m.stacks.push_back({.side = stacks[s].side,
                        .layers = stacks[s].layers(),
                        .per_layer = stacks[s].per_layer,
                        .gradients = std::move(gradients[s]),
                        .representation = measure_representation(stacks[s].inputs),
                        .output_changes = output_changes(parameters, stacks[s]),
                        .shares = std::move(streams.shares),
                        .passes_sum = std::move(streams.passes_sum)});
  }
  return m;
}

}  // namespace residual::probe
