#pragma once

#include "probe/trace.h"
#include "support/torch_models.h"

// A small model of one scheme in double precision, a batch for it, and a traced pass.
namespace residual::test {

struct TracedModel {
  explicit TracedModel(const model::Config& config)
      : parameters(config, at::kDouble), tracer(parameters.config()) {
    parameters.initialise(1);
    perturb(parameters);
    const Text source = random_text({5, 1, 7}, config.source_vocabulary, 3);
    const Text target = random_text({4, 6, 1}, config.target_vocabulary, 4);
    batch = nn::translation_batch(source.sentences(), target.sentences());
    model = std::make_unique<nn::Transformer>(parameters, nn::DropoutRates{});
  }

  nn::Loss loss() { return model->loss(batch, {}, {.watcher = &tracer}); }

  nn::Parameters parameters;
  nn::ModelBatch batch;
  std::unique_ptr<nn::Transformer> model;
  probe::Tracer tracer;
};

}  // namespace residual::test
