// Training with blocks other than those of Vaswani et al. 2017.

#include "nn/blocks.h"

#include <gtest/gtest.h>

#include "decode/score.h"
#include "nn/transformer.h"
#include "ops/mode.h"
#include "support/block_kinds.h"
#include "support/tensors.h"
#include "support/torch_models.h"

namespace residual::nn {
namespace {

using test::expect_close;
using test::random_text;

constexpr DropoutRates kRates = {.residual = 0.3, .attention = 0.1, .activation = 0.1};

model::Config config_of(const test::BlockKind& blocks, model::Kind kind,
                        const schemes::Choice& scheme = {}) {
  model::Config config = test::tiny_config(scheme);
  config.kind = kind;
  blocks.set(config);
  return config;
}

Parameters made(const model::Config& config, at::ScalarType type = at::kFloat) {
  Parameters parameters(config, type);
  parameters.initialise(3);
  test::perturb(parameters);
  return parameters;
}

ModelBatch batch_of(const model::Config& config, const std::vector<int>& lengths) {
  const test::Text source = random_text(lengths, 23, 1), target = random_text(lengths, 23, 2);
  switch (config.kind) {
    case model::Kind::translation:
      return translation_batch(source.sentences(), target.sentences());
    case model::Kind::language:
      return language_batch(target.sentences(), at::kCPU, model::start_symbol(config));
    case model::Kind::masked:
      break;
  }
  return masked_batch(source.sentences(), 23, 0.5, Random(1));
}

// The engine's logits of the first sentence of batch_of().
std::vector<float> engine_logits(const Parameters& parameters, const std::vector<int>& lengths) {
  const model::Config& config = parameters.config();
  std::map<std::string, std::span<const float>> values;
  for (size_t i = 0; i < parameters.list().size(); ++i) {
    values[parameters.list()[i].name] = {parameters[i].data_ptr<float>(),
                                         static_cast<size_t>(parameters[i].numel())};
  }
  decode::Engine engine(decode::copy_weights(config, values, decode::Precision::float32));
  if (config.kind == model::Kind::masked) {
    const ModelBatch batch = batch_of(config, lengths);
    std::vector<int32_t> seen;
    for (int64_t i = 0; i < batch.source.numel(); ++i)
      seen.push_back(static_cast<int32_t>(batch.source[i].item<int64_t>()));
    const std::span<const int32_t> ids = seen;
    const auto rows = engine.predictors(engine.encode_rows({&ids, 1}, nullptr), nullptr);
    std::vector<float> logits;
    for (int64_t i = 0; i < batch.selected.numel(); ++i) {
      std::vector<float> row(23);
      engine.project(rows, batch.selected[i].item<int64_t>(), 1, row.data(), nullptr);
      logits.insert(logits.end(), row.begin(), row.end());
    }
    return logits;
  }
  decode::Pair pair = {{}, random_text(lengths, 23, 2).ids};
  if (config.kind == model::Kind::translation) pair.source = random_text(lengths, 23, 1).ids;
  return decode::forced_logits(engine, pair);
}

// Values in float32 against float64, with dropout; the engine; alone and in a batch; gradients of
// every parameter against differences of the loss; and again when blocks are recomputed.
void expect_all(const model::Config& config) {
  const Parameters parameters = made(config), exact = made(config, at::kDouble);
  const Transformer model(parameters, kRates), reference(exact, kRates);
  const ModelBatch batch = batch_of(config, {4, 2, 6});
  Pass pass{.training = true, .seed = 5, .update = 7};
  expect_close(model.logits(batch, pass), reference.logits(batch, pass), 1e-5);

  const Tensor alone = model.logits(batch_of(config, {9}), {});
  const Tensor from_engine =
      at::tensor(engine_logits(parameters, {9}), at::kFloat).view(alone.sizes());
  expect_close(from_engine, alone, 1e-4);
  if (config.kind != model::Kind::masked) {
    expect_close(model.logits(batch_of(config, {4}), {}), model.logits(batch, {}).narrow(0, 0, 4),
                 1e-6);
  }

  const ops::LossSpec spec{.label_smoothing = 0};
  const auto loss = [&] { return reference.loss(batch, spec, pass).sum; };
  loss().backward();
  const Tensor once = exact.gradients().clone();
  exact.gradients().zero_();
  pass.recompute = true;
  loss().backward();
  EXPECT_TRUE(at::equal(exact.gradients(), once));
  model.loss(batch, spec, {.training = true, .seed = 5, .update = 7}).sum.backward();
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < exact.list().size(); ++i) {
    SCOPED_TRACE(exact.list()[i].name);
    Tensor w = exact[i];
    expect_close(parameters[i].grad(), w.grad(), 1e-4);
    if (exact.list()[i].name == model::kOutputBias && config.kind == model::Kind::language) {
      EXPECT_EQ(w.grad().abs().max().item<double>(), 0);  // not learned
      continue;
    }
    Tensor u = at::empty(w.sizes(), at::kDouble);
    const Random random(29, i);
    for (int64_t j = 0; j < u.numel(); ++j) u.data_ptr<double>()[j] = 2 * random.uniform(j) - 1;
    constexpr double h = 1e-7;  // small: a ReLU must not change sides on the way
    w.add_(u, h);
    const auto above = loss().item<double>();
    w.sub_(u, 2 * h);
    const auto below = loss().item<double>();
    w.add_(u, h);
    const double slope = (w.grad() * u).sum().item<double>();
    EXPECT_NEAR((above - below) / (2 * h), slope, 2e-6 * (1 + std::abs(slope)));
  }
}

class EveryBlock : public testing::TestWithParam<test::BlockKind> {};
class EverySingleBlock : public EveryBlock {};

TEST_P(EveryBlock, TranslatesLikeTheEngineAndFloat64) {
  expect_all(config_of(GetParam(), model::Kind::translation));
}

TEST_P(EverySingleBlock, ContinuesTextsLikeTheEngineAndFloat64) {
  expect_all(config_of(GetParam(), model::Kind::language));
}

TEST_P(EverySingleBlock, FillsMasksLikeTheEngineAndFloat64) {
  expect_all(config_of(GetParam(), model::Kind::masked));
}

TEST_P(EveryBlock, IsTheSameByReferenceOperators) {
  const model::Config config = config_of(GetParam(), model::Kind::language);
  const Parameters parameters = made(config);
  const Transformer model(parameters, kRates);
  const ModelBatch batch = batch_of(config, {4, 2, 6});
  const Pass pass{.training = true, .seed = 5, .update = 7};
  const Tensor fused = model.logits(batch, pass);
  ops::set_mode(ops::Mode::reference);
  const Tensor by_reference = model.logits(batch, pass);
  ops::set_mode(ops::Mode::fused);
  expect_close(fused, by_reference, 1e-5);
}

TEST_P(EveryBlock, TrainsWithProductsInBfloat16) {
  const model::Config config = config_of(GetParam(), model::Kind::language);
  const Parameters parameters = made(config);
  const Transformer model(parameters, {});
  const ModelBatch batch = batch_of(config, {4, 2, 6});
  const auto exact = model.loss(batch, {}, {}).sum.item<double>();
  ops::set_products(ops::Products::bfloat16);
  const auto loss = model.loss(batch, {}, {}).sum;
  loss.backward();
  ops::set_products(ops::Products::float32);
  EXPECT_NEAR(loss.item<double>(), exact, 0.02 * exact);
  EXPECT_TRUE(parameters.gradients().isfinite().all().item<bool>());
}

const auto kName = [](const auto& tested) { return tested.param.name; };
INSTANTIATE_TEST_SUITE_P(Blocks, EveryBlock, testing::ValuesIn(test::block_kinds()), kName);
INSTANTIATE_TEST_SUITE_P(Blocks, EverySingleBlock, testing::ValuesIn(test::single_stack_kinds()),
                         kName);

class EverySchemeWithToday : public testing::TestWithParam<schemes::Choice> {};

TEST_P(EverySchemeWithToday, ContinuesTextsLikeTheEngineAndFloat64) {
  for (const auto& kind : test::block_kinds()) {
    if (kind.name == "llama") expect_all(config_of(kind, model::Kind::language, GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, EverySchemeWithToday, testing::ValuesIn(test::all_schemes()),
                         [](const auto& tested) { return test::scheme_name(tested.param); });

}  // namespace
}  // namespace residual::nn
