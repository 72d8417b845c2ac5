#include "probe/measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "ops/attention.h"
#include "probe/models.h"
#include "schemes/make.h"
#include "schemes/resi_dual.h"
#include "support/double_arithmetic.h"
#include "support/tensors.h"

namespace residual::probe {
namespace {

using test::DoubleArithmetic;
using test::TracedModel;

test::Rows to_rows(const Tensor& x) {
  const Tensor c = x.detach().contiguous();
  return {static_cast<size_t>(c.size(1)), {c.data_ptr<double>(), c.data_ptr<double>() + c.numel()}};
}

// The plainest blocks: recorded outputs, inputs kept.
class PlainBlocks final : public schemes::Blocks<DoubleArithmetic> {
 public:
  PlainBlocks(const StackTrace& trace, int layers)
      : Blocks(layers * trace.per_layer, trace.per_layer), trace_(trace) {}
  test::Rows operator()(int k, const test::Rows& x) const override {
    seen.push_back(x);
    return to_rows(trace_.outputs[k]);
  }
  mutable std::vector<test::Rows> seen;

 private:
  const StackTrace& trace_;
};

// The stack's scheme in doubles with the model's own parameters.
struct PlainStack {
  PlainStack(const nn::Parameters& parameters, const StackTrace& trace)
      : arithmetic(static_cast<size_t>(parameters.config().width)),
        scheme(schemes::make(arithmetic, model::stack(parameters.config(), trace.side),
                             parameters.config().residual)) {
    const std::string prefix =
        trace.side == Side::encoder ? "encoder.residual." : "decoder.residual.";
    for (const auto& [name, values] : arithmetic.parameters()) {
      *values = to_rows(parameters.at(prefix + name).view({1, -1})).at;
    }
  }
  DoubleArithmetic arithmetic;
  std::unique_ptr<schemes::Scheme<DoubleArithmetic>> scheme;
};

double mean_difference(const test::Rows& a, const test::Rows& b) {
  double sum = 0;
  for (size_t i = 0; i < a.at.size(); ++i) sum += std::abs(a.at[i] - b.at[i]);
  return sum / static_cast<double>(a.at.size());
}

double row_variance(const test::Rows& x) {
  double sum = 0;
  for (size_t r = 0; r < x.rows(); ++r) {
    const auto begin = x.at.begin() + static_cast<std::ptrdiff_t>(r * x.width);
    sum += test::variance({x.width, {begin, begin + static_cast<std::ptrdiff_t>(x.width)}});
  }
  return sum;
}

class StreamsOf : public testing::TestWithParam<schemes::Choice> {};

TEST_P(StreamsOf, ChangesAndCosinesAreThoseOfAPlainLoop) {
  TracedModel traced(test::tiny_config(GetParam()));
  traced.loss();
  for (const StackTrace& trace : traced.tracer.stacks()) {
    const PlainStack plain(traced.parameters, trace);
    const PlainBlocks blocks(trace, trace.layers());
    plain.scheme->forward(to_rows(trace.embedded), blocks);
    const Representation measured = measure_representation(trace.inputs);
    ASSERT_EQ(measured.change.size() + 1, blocks.seen.size());
    for (size_t k = 0; k + 1 < blocks.seen.size(); ++k) {
      const auto &a = blocks.seen[k], &b = blocks.seen[k + 1];
      EXPECT_NEAR(measured.change[k], mean_difference(a, b), 1e-10);
      double cosine = 0;
      for (size_t r = 0; r < a.rows(); ++r) {
        double ab = 0, aa = 0, bb = 0;
        for (size_t j = r * a.width; j < (r + 1) * a.width; ++j) {
          ab += a.at[j] * b.at[j], aa += a.at[j] * a.at[j], bb += b.at[j] * b.at[j];
        }
        cosine += ab / std::sqrt(aa * bb) / static_cast<double>(a.rows());
      }
      EXPECT_NEAR(measured.cosine[k], cosine, 1e-10);
    }
  }
}

TEST_P(StreamsOf, DroppedLayersGiveTheOutputOfTheStackBelow) {
  TracedModel traced(test::tiny_config(GetParam()));
  traced.loss();
  for (const StackTrace& trace : traced.tracer.stacks()) {
    const auto changes = output_changes(traced.parameters, trace);
    const PlainStack plain(traced.parameters, trace);
    const auto y = [&](int layers) {
      return plain.scheme->forward(to_rows(trace.embedded), PlainBlocks(trace, layers));
    };
    ASSERT_EQ(static_cast<int>(changes.size()), trace.layers());
    for (int dropped = 1; dropped <= trace.layers(); ++dropped) {
      EXPECT_NEAR(changes[dropped - 1],
                  mean_difference(y(trace.layers()), y(trace.layers() - dropped)), 1e-10);
    }
  }
}

// Streams that a block's output joins. Attention Residuals mix it into the input of every block
// above it and into the output.
size_t sums_of(const std::string& scheme, int blocks_above) {
  if (scheme == "resi-dual" || scheme == "siamese-norm") return 2;
  if (scheme == "hyper-connections" || scheme == "mhc") return 4;
  return scheme == "attention-residuals" ? static_cast<size_t>(blocks_above) + 1 : 1;
}

TEST_P(StreamsOf, EveryBlockHasAShareOfEachSumItJoins) {
  TracedModel traced(test::tiny_config(GetParam()));
  traced.loss();
  for (const StackTrace& trace : traced.tracer.stacks()) {
    int above = trace.blocks();
    for (const auto& shares : measure_streams(traced.parameters, trace).shares) {
      ASSERT_EQ(shares.size(), sums_of(GetParam().name, --above));
      for (const double share : shares) EXPECT_GT(share, 0);
    }
  }
}

// B2T, DLCL and DenseFormer give the next layer more than the sum of the last block. Blocks that
// see several streams see no sum of one block, but for the second block of Attention Residuals.
TEST_P(StreamsOf, TheNextBlockSeesTheSumButWhereLayersOrStreamsAreJoined) {
  TracedModel traced(test::tiny_config(GetParam()));
  traced.loss();
  const std::set<std::string> of_layers = {"b2t", "dlcl", "denseformer"};
  const std::set<std::string> of_streams = {"siamese-norm", "hyper-connections", "mhc",
                                            "attention-residuals"};
  const std::string& name = GetParam().name;
  for (const StackTrace& trace : traced.tracer.stacks()) {
    const auto passes_sum = measure_streams(traced.parameters, trace).passes_sum;
    ASSERT_EQ(static_cast<int>(passes_sum.size()), trace.blocks() - 1);
    for (int k = 0; k + 1 < trace.blocks(); ++k) {
      const bool closes_layer = (k + 1) % trace.per_layer == 0;
      const bool is_joined =
          (of_layers.contains(name) && closes_layer) ||
          (of_streams.contains(name) && !(name == "attention-residuals" && k == 0));
      EXPECT_EQ(passes_sum[k], !is_joined) << "block " << k + 1;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, StreamsOf, testing::ValuesIn(test::all_schemes()),
                         [](const auto& test) { return test::scheme_name(test.param); });

// x_k is not what Pre-LN's blocks see, so the share needs the stream itself.
TEST(Shares, ArePreLnsBranchOverTheRunningSum) {
  TracedModel traced(test::tiny_config({.name = "pre-ln"}));
  traced.loss();
  const StackTrace& trace = traced.tracer.stacks()[1];
  const auto shares = measure_streams(traced.parameters, trace).shares;
  test::Rows sum = to_rows(trace.embedded);
  for (int k = 0; k < trace.blocks(); ++k) {
    const test::Rows f = to_rows(trace.outputs[k]);
    sum = test::add(sum, f);
    EXPECT_NEAR(shares[k][0], row_variance(f) / row_variance(sum), 1e-10);
  }
}

TEST(Shares, OfResiDualsDualStreamAreThoseOfASum) {
  TracedModel traced(
      test::tiny_config({.name = "resi-dual", .options = schemes::ResiDual::Options{.eta = 0.5}}));
  traced.loss();
  const StackTrace& trace = traced.tracer.stacks()[0];
  const auto shares = measure_streams(traced.parameters, trace).shares;
  test::Rows d = test::scale(to_rows(trace.embedded), 0.5);
  for (int k = 0; k < trace.blocks(); ++k) {
    const test::Rows f = test::scale(to_rows(trace.outputs[k]), 0.5);
    d = test::add(d, f);
    EXPECT_NEAR(shares[k][1], row_variance(f) / row_variance(d), 1e-10);
  }
}

TEST(Entropy, OfUniformAttentionIsTheLogarithmOfTheKeys) {
  const ops::AttentionSpec spec{
      .heads = 2, .visibility = ops::Visibility::all, .queries = {{0, 2, 5}}, .keys = {{0, 4, 11}}};
  const Tensor same = at::zeros({5, 4}, at::kDouble), keys = at::zeros({11, 4}, at::kDouble);
  Tensor p;
  ops::reference::attention(same, keys, keys, spec, &p);
  const auto entropy = entropy_of(p, spec);
  for (size_t head = 0; head < 2; ++head) {
    EXPECT_NEAR(entropy.nats[head], (2 * std::log(4.0) + 3 * std::log(7.0)) / 5, 1e-12);
    EXPECT_NEAR(entropy.relative[head], 1, 1e-12);
  }
}

TEST(Entropy, CausalQueriesAreComparedWithTheKeysTheyMaySee) {
  const ops::AttentionSpec spec{
      .heads = 1, .visibility = ops::Visibility::causal, .queries = {{0, 3}}, .keys = {{0, 3}}};
  const Tensor rows = at::zeros({3, 2}, at::kDouble);
  Tensor p;
  ops::reference::attention(rows, rows, rows, spec, &p);
  const auto entropy = entropy_of(p, spec);
  EXPECT_NEAR(entropy.nats[0], (std::log(1.0) + std::log(2.0) + std::log(3.0)) / 3, 1e-12);
  EXPECT_NEAR(entropy.relative[0], 1, 1e-12);
}

TEST(Entropy, IsMeasuredInEveryAttentionBlock) {
  TracedModel traced(test::tiny_config());
  traced.loss();
  const auto all = measure_entropy(traced.parameters, traced.tracer.stacks(), traced.batch);
  ASSERT_EQ(all.size(), 2u + 2u * 3u);
  for (const auto& block : all) {
    ASSERT_EQ(block.nats.size(), 2u);
    for (size_t head = 0; head < 2; ++head) {
      EXPECT_GT(block.nats[head], 0);
      EXPECT_LE(block.relative[head], 1 + 1e-9);
    }
  }
}

TEST(Measure, WorksForLanguageAndMaskedModels) {
  auto config = test::tiny_config();
  config.kind = model::Kind::language;
  nn::Parameters language(config);
  language.initialise(1);
  const auto text = test::random_text({5, 7}, config.target_vocabulary, 5);
  const auto of_language = measure(language, nn::language_batch(text.sentences()), {});
  ASSERT_EQ(of_language.stacks.size(), 1u);
  EXPECT_EQ(of_language.stacks[0].side, Side::decoder);
  EXPECT_EQ(of_language.stacks[0].per_layer, 2);
  EXPECT_EQ(of_language.entropy.size(), 3u);

  config.kind = model::Kind::masked;
  nn::Parameters masked(config);
  masked.initialise(1);
  const auto of_masked = measure(
      masked, nn::masked_batch(text.sentences(), config.source_vocabulary, 0.5, Random(1)), {});
  ASSERT_EQ(of_masked.stacks.size(), 1u);
  EXPECT_EQ(of_masked.stacks[0].side, Side::encoder);
  EXPECT_GT(of_masked.stacks[0].gradients.total.parameters[0], 0);
}

TEST(Measure, ReachesAHundredLayersPerStack) {
  auto config = test::tiny_config();
  config.encoder_layers = config.decoder_layers = 100;
  nn::Parameters parameters(config);
  parameters.initialise(1);
  const auto source = test::random_text({4, 3}, config.source_vocabulary, 5);
  const auto m =
      measure(parameters, nn::translation_batch(source.sentences(), source.sentences()), {});
  EXPECT_EQ(m.stacks[0].output_changes.size(), 100u);
  EXPECT_EQ(m.stacks[1].gradients.total.parameters.size(), 300u);
  for (const double norm : m.stacks[1].gradients.total.parameters) EXPECT_GT(norm, 0);
}

}  // namespace
}  // namespace residual::probe
