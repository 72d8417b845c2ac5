#include "probe/gradients.h"

#include <gtest/gtest.h>

#include <cmath>

#include "probe/models.h"
#include "schemes/registry.h"
#include "schemes/resi_dual.h"
#include "support/tensors.h"

namespace residual::probe {
namespace {

using test::TracedModel;

class GradientsOf : public testing::TestWithParam<schemes::Choice> {};

TEST_P(GradientsOf, NormsAreThoseOfAPlainBackwardPass) {
  TracedModel traced(test::tiny_config(GetParam()));
  const nn::Loss loss = traced.loss();
  const auto measured = measure_gradients(traced.parameters, traced.tracer.stacks(), loss);

  TracedModel plain(test::tiny_config(GetParam()));
  const nn::Loss again = plain.model->loss(plain.batch, {}, {});
  again.sum.backward();
  const auto square = [&](const std::string& name) {
    const double n = plain.parameters.at(name).grad().norm().item<double>();
    return n * n;
  };
  const double expected = std::sqrt(square("decoder.layers.1.cross_attention.query.weight") +
                                    square("decoder.layers.1.cross_attention.query.bias") +
                                    square("decoder.layers.1.cross_attention.key_value.weight") +
                                    square("decoder.layers.1.cross_attention.key_value.bias") +
                                    square("decoder.layers.1.cross_attention.output.weight") +
                                    square("decoder.layers.1.cross_attention.output.bias")) /
                          static_cast<double>(again.predictions);
  ASSERT_EQ(measured.size(), 2u);
  ASSERT_EQ(measured[0].total.parameters.size(), 4u);  // two encoder layers of two blocks
  ASSERT_EQ(measured[1].total.parameters.size(), 9u);  // three decoder layers of three
  EXPECT_NEAR(measured[1].total.parameters[4], expected, 1e-12 + 1e-9 * expected);
}

INSTANTIATE_TEST_SUITE_P(Schemes, GradientsOf, testing::ValuesIn(test::all_schemes()),
                         [](const auto& test) { return test::scheme_name(test.param); });

// The two parts of equation 4 as vectors, not only as norms.
TEST(GradientSplit, PartsAddUpToTheWholeGradient) {
  for (const schemes::Choice& scheme :
       {schemes::Choice{.name = "resi-dual"},
        schemes::Choice{.name = "resi-dual",
        .options = schemes::ResiDual::Options{.eta = 0.5, .output_scale = 0.7}}}) {
    TracedModel traced(test::tiny_config(scheme));
    const nn::Loss loss = traced.loss();
    const auto& stack = traced.tracer.stacks()[1];
    stack.y.retain_grad();
    const Tensor& flat = traced.parameters.gradients();
    loss.sum.backward({}, /*retain_graph=*/true);
    const auto block_part = [&] {  // of all blocks of the decoder
      std::vector<Tensor> parts;
      for (size_t i = 0; i < traced.parameters.list().size(); ++i) {
        const auto& p = traced.parameters.list()[i];
        if (p.side != Side::decoder || p.block < 0) continue;
        parts.push_back(flat.narrow(0, traced.parameters.offset(i), p.size()));
      }
      return at::cat(parts);
    };
    const Tensor whole = block_part(), g = stack.y.grad().clone();
    const auto part = [&](const schemes::Choice& options, double weight) {
      flat.zero_();
      replay(traced.parameters, stack, options, stack.layers())
          .backward(weight * g, /*retain_graph=*/true);
      return block_part();
    };
    const auto parts = schemes::find(scheme.name).parts(scheme);
    ASSERT_EQ(parts.size(), 2u);
    const Tensor post = part(parts[0].alone, parts[0].weight),
                 dual = part(parts[1].alone, parts[1].weight);
    EXPECT_GT(post.norm().item<double>(), 1e-3);
    EXPECT_GT(dual.norm().item<double>(), 1e-3);
    test::expect_close(post + dual, whole, 1e-12);
  }
}

// Section 1.3 of the derivation: r is a pure sum, so what it hands to each block is one vector.
TEST(GradientSplit, DualPartReachesTheLastBlockUntouched) {
  TracedModel traced(
      test::tiny_config({.name = "resi-dual", .options = schemes::ResiDual::Options{.eta = 0.25}}));
  const nn::Loss loss = traced.loss();
  const auto measured = measure_gradients(traced.parameters, traced.tracer.stacks(), loss);
  const auto& stack = traced.tracer.stacks()[1];

  // eta LN^T(g) by hand: for r the dual stream, n = d, LN(r)_i = (r_i - mean) rstd w_i + b_i.
  TracedModel again(
      test::tiny_config({.name = "resi-dual", .options = schemes::ResiDual::Options{.eta = 0.25}}));
  const nn::Loss plain = again.loss();
  const auto& trace = again.tracer.stacks()[1];
  trace.y.retain_grad();
  plain.sum.backward();
  Tensor r = 0.25 * trace.embedded.detach();
  for (const Tensor& f : trace.outputs) r = r + 0.25 * f.detach();
  const Tensor rstd = at::rsqrt(r.var(1, false, true) + 1e-7);
  const Tensor hat = (r - r.mean(1, true)) * rstd;
  const Tensor gw = trace.y.grad() / static_cast<double>(plain.predictions) *
                    again.parameters.at("decoder.residual.dual_norm.weight").detach();
  const Tensor dr = rstd * (gw - gw.mean(1, true) - hat * (gw * hat).mean(1, true));
  ASSERT_TRUE(measured[1].split.has_value());
  EXPECT_NEAR(measured[1].split->direct, (0.25 * dr).norm().item<double>(), 1e-10);
  EXPECT_EQ(measured[1].split->streams[1].outputs.size(), static_cast<size_t>(stack.blocks()));
}

TEST(GradientSplit, OnlySchemesWithSeveralStreamsHaveOne) {
  TracedModel traced(test::tiny_config({.name = "post-ln"}));
  const nn::Loss loss = traced.loss();
  for (const auto& stack : measure_gradients(traced.parameters, traced.tracer.stacks(), loss)) {
    EXPECT_FALSE(stack.split.has_value());
  }
}

}  // namespace
}  // namespace residual::probe
