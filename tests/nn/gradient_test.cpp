// Gradients of whole models against differences of the loss, in float64, for every scheme.

#include <gtest/gtest.h>

#include "nn/transformer.h"
#include "support/torch_models.h"

namespace residual::nn {
namespace {

class Gradient : public testing::TestWithParam<schemes::Choice> {};

// (L(w + h u) - L(w - h u)) / 2h for a random direction u in each parameter, against u . dL/dw.
TEST_P(Gradient, AgreesWithDifferencesOfTheLoss) {
  const model::Config config = test::tiny_config(GetParam());
  Parameters parameters(config, at::kDouble);
  parameters.initialise(3);
  test::perturb(parameters);
  const Transformer model(parameters, {.residual = 0.2, .attention = 0.1, .activation = 0.1});
  const test::Text source = test::random_text({4, 2, 6}, 23, 1);
  const test::Text target = test::random_text({3, 5, 1}, 23, 2);
  const ModelBatch batch = translation_batch(source.sentences(), target.sentences());
  const Pass pass{.training = true, .seed = 5, .update = 7};
  const auto loss = [&] { return model.loss(batch, {}, pass).sum; };
  loss().backward();

  const at::NoGradGuard no_grad;
  constexpr double h = 1e-7;  // small: a ReLU must not change sides on the way
  for (size_t i = 0; i < parameters.list().size(); ++i) {
    Tensor w = parameters[i];
    Tensor u = at::empty(w.sizes(), at::kDouble);
    const Random random(29, i);
    for (int64_t j = 0; j < u.numel(); ++j) u.data_ptr<double>()[j] = 2 * random.uniform(j) - 1;
    w.add_(u, h);
    const auto above = loss().item<double>();
    w.sub_(u, 2 * h);
    const auto below = loss().item<double>();
    w.add_(u, h);
    const double slope = (w.grad() * u).sum().item<double>();
    EXPECT_NEAR((above - below) / (2 * h), slope, 1e-6 * (1 + std::abs(slope)))
        << parameters.list()[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, Gradient, testing::ValuesIn(test::all_schemes()),
                         [](const auto& tested) { return test::scheme_name(tested.param); });

}  // namespace
}  // namespace residual::nn
