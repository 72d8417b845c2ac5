// The engine computes what training computes.

#include <gtest/gtest.h>

#include "decode/score.h"
#include "nn/transformer.h"
#include "support/torch_models.h"

namespace residual::nn {
namespace {

using test::random_text;

class EveryKind : public testing::TestWithParam<std::string> {
 protected:
  explicit EveryKind() : parameters_(test::tiny_config({.name = GetParam()})) {}

  // A perturbed model of this configuration, in training and in the engine.
  void make(const model::Config& config) {
    parameters_ = Parameters(config);
    parameters_.initialise(3);
    test::perturb(parameters_);
    model_ = std::make_unique<Transformer>(parameters_, DropoutRates{});
    std::map<std::string, std::span<const float>> values;
    for (size_t i = 0; i < parameters_.list().size(); ++i) {
      values[parameters_.list()[i].name] = {parameters_[i].data_ptr<float>(),
                                            static_cast<size_t>(parameters_[i].numel())};
    }
    engine_ = std::make_unique<decode::Engine>(
        decode::copy_weights(config, values, decode::Precision::float32));
  }
  static void expect_near(const Tensor& want, const std::vector<float>& got) {
    ASSERT_EQ(want.numel(), std::ssize(got));
    const Tensor flat = want.contiguous();
    for (int64_t i = 0; i < flat.numel(); ++i) {
      ASSERT_NEAR(got[i], flat.data_ptr<float>()[i], 1e-4) << i;
    }
  }

  Parameters parameters_;
  std::unique_ptr<Transformer> model_;
  std::unique_ptr<decode::Engine> engine_;
};

TEST_P(EveryKind, TranslatesWithTheLogitsOfTraining) {
  make(parameters_.config());
  const auto source = random_text({6}, 23, 1), target = random_text({9}, 23, 2);
  expect_near(model_->logits(translation_batch(source.sentences(), target.sentences()), {}),
              decode::forced_logits(*engine_, {source.ids, target.ids}));
}

TEST_P(EveryKind, ContinuesTextsWithTheLogitsOfTraining) {
  model::Config config = parameters_.config();
  config.kind = model::Kind::language;
  make(config);
  const auto text = random_text({9}, 23, 2);
  expect_near(model_->logits(language_batch(text.sentences()), {}),
              decode::forced_logits(*engine_, {{}, text.ids}));
}

TEST_P(EveryKind, FillsMasksWithTheRowsOfTraining) {
  model::Config config = parameters_.config();
  config.kind = model::Kind::masked;
  make(config);
  const auto text = random_text({9}, 23, 2);
  ModelBatch batch = masked_batch(text.sentences(), 23, 0.3, Random(1));
  std::vector<int32_t> seen;
  for (int64_t i = 0; i < batch.source.numel(); ++i) {
    seen.push_back(static_cast<int32_t>(batch.source[i].item<int64_t>()));
  }
  const std::span<const int32_t> ids = seen;
  const decode::Rows rows = engine_->encode_rows({&ids, 1}, nullptr);
  expect_near(model_->encode(batch, {}), {rows.data(), rows.data() + rows.size()});
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryKind,
                         testing::Values("resi-dual", "post-ln", "pre-ln", "mhc", "denseformer"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace residual::nn
