#include "nn/transformer.h"

#include <gtest/gtest.h>

#include "ops/mode.h"
#include "support/tensors.h"
#include "support/torch_models.h"

namespace residual::nn {
namespace {

using test::expect_close;
using test::random_text;

constexpr DropoutRates kRates = {.residual = 0.3, .attention = 0.1, .activation = 0.1};

ModelBatch batch_of(const std::vector<int>& sources, const std::vector<int>& targets) {
  const test::Text source = random_text(sources, 23, 1), target = random_text(targets, 23, 2);
  return translation_batch(source.sentences(), target.sentences());
}

class EveryScheme : public testing::TestWithParam<schemes::Choice> {
 protected:
  EveryScheme() : parameters_(test::tiny_config(GetParam())), model_(parameters_, kRates) {
    parameters_.initialise(3);
    test::perturb(parameters_);
  }

  Parameters parameters_;
  Transformer model_;
};

TEST_P(EveryScheme, TreatsASentenceAloneAsInABatch) {
  const ModelBatch all = batch_of({4, 2, 6}, {3, 5, 1});
  const Tensor logits = model_.logits(all, {});
  const ModelBatch first = batch_of({4}, {3});
  expect_close(model_.logits(first, {}), logits.narrow(0, 0, 3), 1e-6);
}

TEST_P(EveryScheme, AgreesWithFloat64) {
  Parameters exact(parameters_.config(), at::kDouble);
  exact.initialise(3);
  test::perturb(exact);
  const Transformer reference(exact, kRates);
  const ModelBatch batch = batch_of({4, 2, 6}, {3, 5, 1});
  const Pass pass{.training = true, .seed = 5, .update = 7};
  expect_close(model_.logits(batch, pass), reference.logits(batch, pass), 1e-5);
}

TEST_P(EveryScheme, SendsGradientToEveryParameter) {
  model_.loss(batch_of({4, 2, 6}, {3, 5, 1}), {}, {}).sum.backward();
  for (size_t i = 0; i < parameters_.list().size(); ++i) {
    EXPECT_GT(parameters_[i].grad().abs().max().item<double>(), 0) << parameters_.list()[i].name;
  }
}

TEST_P(EveryScheme, HasTheSameGradientsWhenBlocksAreRecomputed) {
  const ModelBatch batch = batch_of({4, 2, 6}, {3, 5, 1});
  for (const ops::Mode mode : {ops::Mode::fused, ops::Mode::reference}) {
    ops::set_mode(mode);
    std::vector<Tensor> gradients;
    for (const bool recompute : {false, true}) {
      parameters_.gradients().zero_();
      const Pass pass{.training = true, .seed = 5, .update = 7, .recompute = recompute};
      for (int i = 0; i < 2; ++i) model_.loss(batch, {}, pass).sum.backward();
      gradients.push_back(parameters_.gradients().clone());
    }
    EXPECT_TRUE(at::equal(gradients[0], gradients[1]));
  }
  ops::set_mode(ops::Mode::fused);
}

TEST_P(EveryScheme, PredictsATokenFromThoseBeforeItOnly) {
  const test::Text source = random_text({4}, 23, 1);
  test::Text target = random_text({6}, 23, 2);
  const Tensor before =
      model_.logits(translation_batch(source.sentences(), target.sentences()), {});
  target.ids[3] = 5 + (target.ids[3] - 4) % 18;
  const Tensor after = model_.logits(translation_batch(source.sentences(), target.sentences()), {});
  expect_close(before.narrow(0, 0, 4), after.narrow(0, 0, 4), 1e-6);
  EXPECT_GT(test::largest_difference(before[4], after[4]), 1e-4);
}

TEST_P(EveryScheme, RepeatsAPassToTheLastBit) {
  const ModelBatch batch = batch_of({4, 2, 6}, {3, 5, 1});
  const Pass pass{.training = true, .seed = 5, .update = 7};
  EXPECT_TRUE(at::equal(model_.logits(batch, pass), model_.logits(batch, pass)));
  const Pass next{.training = true, .seed = 5, .update = 8};
  EXPECT_FALSE(at::equal(model_.logits(batch, pass), model_.logits(batch, next)));
}

TEST_P(EveryScheme, LearnsABatchFromItsStart) {
  parameters_.initialise(3);
  const ModelBatch batch = batch_of({4, 2, 6}, {3, 5, 1});
  const auto loss = [&] {
    const Tensor sum = model_.loss(batch, {}, {}).sum;
    sum.backward();
    return sum.item<double>();
  };
  double first = 0, last = 0;
  for (int update = 0; update < 60; ++update) {
    parameters_.gradients().zero_();
    (update == 0 ? first : last) = loss();
    const at::NoGradGuard no_grad;
    parameters_.values().sub_(parameters_.gradients().sign(), 3e-3);
  }
  EXPECT_LT(last, 0.7 * first);
}

TEST_P(EveryScheme, TrainsAsLanguageAndMaskedModel) {
  for (const model::Kind kind : {model::Kind::language, model::Kind::masked}) {
    model::Config config = parameters_.config();
    config.kind = kind;
    Parameters parameters(config);
    parameters.initialise(3);
    test::perturb(parameters);
    const Transformer model(parameters, kRates);
    const test::Text text = random_text({4, 7}, 23, 1);
    const ModelBatch batch = kind == model::Kind::language
                                 ? language_batch(text.sentences())
                                 : masked_batch(text.sentences(), 23, 0.3, Random(1));
    const Loss loss = model.loss(batch, {}, {.training = true});
    EXPECT_EQ(loss.predictions, batch.predictions());
    loss.sum.backward();
    for (size_t i = 0; i < parameters.list().size(); ++i) {
      EXPECT_TRUE(parameters[i].grad().isfinite().all().item<bool>()) << parameters.list()[i].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, EveryScheme, testing::ValuesIn(test::all_schemes()),
                         [](const auto& tested) { return test::scheme_name(tested.param); });

TEST(Transformer, AccumulatesGradientsInTheFlatBuffer) {
  Parameters parameters(test::tiny_config());
  parameters.initialise(3);
  const Transformer model(parameters, {});
  const ModelBatch batch = batch_of({4, 2}, {3, 5});
  model.loss(batch, {}, {}).sum.backward();
  const Tensor once = parameters.gradients().clone();
  model.loss(batch, {}, {}).sum.backward();
  expect_close(parameters.gradients(), 2 * once, 1e-6);
}

TEST(Transformer, ReplicasShareValuesAndNotGradients) {
  Parameters parameters(test::tiny_config());
  parameters.initialise(3);
  const Parameters replica = parameters.replica();
  const Transformer model(replica, {});
  model.loss(batch_of({4}, {3}), {}, {}).sum.backward();
  EXPECT_EQ(parameters.gradients().abs().max().item<float>(), 0);
  EXPECT_GT(replica.gradients().abs().max().item<float>(), 0);
  EXPECT_EQ(parameters.values().data_ptr(), replica.values().data_ptr());
}

// With unit-variance streams omega_2^2 = Var[x_1] + Var[f_1] is above 1 and omega grows upwards.
TEST(Transformer, CalibratesAdminFromABatch) {
  Parameters parameters(test::tiny_config({.name = "admin"}));
  parameters.initialise(3);
  Transformer model(parameters, {});
  model.calibrate(batch_of({4, 2, 6}, {3, 5, 1}), {});
  EXPECT_EQ(parameters.at("encoder.residual.omega.0").max().item<float>(), 1);
  const auto omega = [&](int k) {
    return parameters.at(fmt::format("decoder.residual.omega.{}", k)).max().item<float>();
  };
  for (int k = 2; k < 9; ++k) EXPECT_GT(omega(k), omega(k - 1)) << k;
}

// The same blocks, dropout and all: what the decoder attends to differs from Post-LN's by LN(d).
TEST(Transformer, ResiDualWithASilentDualNormIsPostLn) {
  Parameters dual(test::tiny_config({.name = "resi-dual"}));
  Parameters post(test::tiny_config({.name = "post-ln"}));
  dual.initialise(3);
  post.initialise(3);
  {
    const at::NoGradGuard no_grad;
    for (const char* side : {"encoder", "decoder"}) {
      Tensor weight = dual.at(fmt::format("{}.residual.dual_norm.weight", side));
      weight.zero_();
    }
  }
  const ModelBatch batch = batch_of({4, 2, 6}, {3, 5, 1});
  const Pass pass{.training = true, .seed = 5, .update = 7};
  expect_close(Transformer(dual, kRates).logits(batch, pass),
               Transformer(post, kRates).logits(batch, pass), 1e-6);
}

}  // namespace
}  // namespace residual::nn
