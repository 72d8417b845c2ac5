#include "train/ranks/stages.h"

#include <gtest/gtest.h>

#include "ops/mode.h"
#include "run/corpora.h"
#include "schemes/registry.h"
#include "support/tiny_run.h"
#include "train/learner.h"

namespace residual::train {
namespace {

// Keeps the gradients of each moment at which a block was passed.
class Snapshots final : public nn::BackwardWatcher {
 public:
  explicit Snapshots(const nn::Parameters& parameters) : parameters_(parameters) {}
  void passed(schemes::Side side, int k) override {
    taken_.emplace_back(stage_of_block(parameters_.config(), side, k),
                        parameters_.gradients().clone());
  }
  const std::vector<std::pair<int, Tensor>>& taken() const { return taken_; }

 private:
  const nn::Parameters& parameters_;
  std::vector<std::pair<int, Tensor>> taken_;
};

void expect_final_gradients(const run::TrainConfig& config) {
  const run::Corpora corpora(config);
  Learner learner(config);
  const data::Batch batch = corpora.batcher(config).next();
  Snapshots snapshots(learner.parameters());
  nn::Pass pass = learner.pass(1, 0, 0);
  pass.backward = &snapshots;
  const auto loss = learner.model().loss(model_batch(config, batch, pass, at::kCPU),
                                         loss_spec(config.loss), pass);
  loss.sum.backward();
  EXPECT_EQ(snapshots.taken().size(), last_stage(config.model) - 1);
  for (const auto& [stage, gradients] : snapshots.taken()) {
    // One bucket for each parameter would be too fine for Slices; their stages are what counts.
    for (size_t i = 0; i < learner.parameters().list().size(); ++i) {
      const auto& name = learner.parameters().list()[i].name;
      if (stage_of_parameter(config.model, name) > stage) continue;
      const int64_t begin = learner.parameters().offset(i);
      const int64_t size = learner.parameters().list()[i].size();
      EXPECT_TRUE(gradients.narrow(0, begin, size)
                      .equal(learner.parameters().gradients().narrow(0, begin, size)))
          << name << " at stage " << stage;
    }
  }
}

TEST(Stages, GradientsAreFinalWhenABlockIsPassed) {
  const test::ReverseTask task;
  for (const auto& scheme : schemes::registry()) {
    for (const run::Operators ops : {run::Operators::fused, run::Operators::reference}) {
      run::TrainConfig config = task.config();
      config.model.encoder_layers = config.model.decoder_layers = 2;
      config.model.residual = {};
      config.model.residual.name = scheme.name;
      config.train.ops = ops;
      config.train.recompute = ops == run::Operators::fused;
      SCOPED_TRACE(scheme.name);
      expect_final_gradients(run::resolve(run::Corpora(config).with_vocabularies(config)));
    }
  }
  ops::set_mode(ops::Mode::fused);
}

TEST(Stages, OfBucketsAreThoseOfTheirLastParameter) {
  const test::ReverseTask task;
  run::TrainConfig config = task.config();
  config.model.width = 128;
  config.model.inner = 1024;
  config = run::resolve(run::Corpora(config).with_vocabularies(config));
  const nn::Parameters parameters(config.model);
  const Slices slices(static_cast<size_t>(parameters.values().numel()), 0, 2);
  const auto stages = bucket_stages(parameters, slices);
  ASSERT_EQ(stages.size(), slices.buckets());
  EXPECT_EQ(stages.front(), last_stage(config.model));  // it has the embedding
}

}  // namespace
}  // namespace residual::train
