// What is true of one scheme only, for those published since 2023.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "schemes/sandwich.h"
#include "schemes/toy_blocks.h"

namespace residual::schemes {
namespace {

const Rows kX = random_rows(3, 21);

TEST(DenseFormer, StartsAsPreLn) {
  for (const DenseFormer::Options options : {DenseFormer::Options{}, {.dilation = 2, .period = 2}})
    EXPECT_EQ(run({.name = "denseformer", .options = options}, kX, toy()).at,
              run({.name = "pre-ln"}, kX, toy()).at);
}

// The average after the last layer, of those that it may take, here the embedding.
TEST(DenseFormer, DilationAndPeriodLeaveOutLayersAndAverages) {
  const auto weights = [](DenseFormer::Options options) {
    A a(kWidth);
    make(a, {.layers = 4}, {.name = "denseformer", .options = options});
    std::string names;
    for (const auto& [name, values] : a.parameters())
      if (name.starts_with("weight.")) names += name.substr(6) + " ";
    return names;
  };
  EXPECT_EQ(weights({.dilation = 2}), ".1.1 .2.0 .2.2 .3.1 .3.3 .4.0 .4.2 .4.4 ");
  EXPECT_EQ(weights({.dilation = 4, .period = 2}), ".2.2 .4.0 .4.4 ");
}

TEST(Laurel, StartsAsPreLn) {
  EXPECT_EQ(run({.name = "laurel"}, kX, toy()).at, run({.name = "pre-ln"}, kX, toy()).at);
}

TEST(MixLn, IsPreLnWithoutPostLnLayersAndNormalisedPostLnWithThoseOnly) {
  const auto mixed = [](double share) {
    return run({.name = "mix-ln", .options = MixLn::Options{.post_share = share}}, kX, toy());
  };
  const Rows post = run({.name = "post-ln"}, kX, toy());
  EXPECT_EQ(mixed(0).at, run({.name = "pre-ln"}, kX, toy()).at);
  EXPECT_EQ(mixed(1).at, layer_norm(post).at);
  EXPECT_GT(largest_difference(mixed(0.4), mixed(0)), 1e-2);  // one layer of three
  EXPECT_EQ(mixed(0.4).at, mixed(0.6).at);
}

TEST(PeriLn, IsSandwichWithoutABranchScale) {
  A a(kWidth);
  const Sandwich::On<A> sandwich(a, kEncoder, {});
  EXPECT_EQ(run({.name = "peri-ln"}, kX, toy()).at, sandwich.forward(kX, toy()).at);
}

TEST(LnScaling, IsPreLnInTheFirstLayerAndDividesBelowTheOthers) {
  const Stack one = {.layers = 1}, two = {.layers = 2};
  EXPECT_EQ(run({.name = "ln-scaling"}, kX, toy(one), one).at,
            run({.name = "pre-ln"}, kX, toy(one), one).at);
  const ToyBlocks f = toy(two);
  Rows x = kX;
  for (int k = 0; k < 4; ++k) x = add(x, f(k, scale(layer_norm(x), k < 2 ? 1 : 1 / std::sqrt(2))));
  EXPECT_LT(largest_difference(run({.name = "ln-scaling"}, kX, f, two), layer_norm(x)), 1e-12);
}

// Each block sees a normalised input, here that of the norm before it up to epsilon.
TEST(Keel, WithAHighwayOfOneOnANormalisedInputIsPostLn) {
  const Rows x = layer_norm(kX);
  const Choice one{.name = "keel", .options = Keel::Options{.highway = 1}};
  EXPECT_LT(largest_difference(run(one, x, toy()), run({.name = "post-ln"}, x, toy())), 1e-4);
  const Choice by_depth{.name = "keel", .options = Keel::Options{.highway = 6}};
  EXPECT_EQ(run({.name = "keel"}, x, toy()).at, run(by_depth, x, toy()).at);
}

// Silencing one stream's norms leaves the other stream, as the paper says.
TEST(SiameseNorm, WithoutItsPostLnStreamIsPreLnWithBranchesNormalisedTwice) {
  A a(kWidth);
  const auto scheme = make(a, kEncoder, {.name = "siamese-norm"});
  for (const auto& [name, values] : a.parameters())
    if (name.starts_with("norm.")) std::ranges::fill(*values, 0);
  const ToyBlocks f = toy();
  Rows d = kX;
  for (int k = 0; k < f.size(); ++k) d = add(d, f(k, layer_norm(layer_norm(d))));
  // x is then z / c of the last block only; its norm is silent too.
  EXPECT_LT(largest_difference(scheme->forward(kX, f), layer_norm(layer_norm(d))), 1e-12);
}

TEST(SiameseNorm, SilentBlocksGiveTheNormalisedInput) {
  const Rows y = run({.name = "siamese-norm"}, kX, toy(kEncoder, 0));
  EXPECT_LT(largest_difference(y, layer_norm(kX)), 1e-4);
}

TEST(HyperConnections, WithOneStreamAreAtTheirStartPreLn) {
  for (const char* variant : {"static", "dynamic"}) {
    const Choice one{.name = "hyper-connections",
                     .variant = variant,
                     .options = HyperConnections::Options{.streams = 1}};
    EXPECT_EQ(run(one, kX, toy()).at, run({.name = "pre-ln"}, kX, toy()).at);
  }
}

// Their sum is n times Pre-LN's stream, which the last norm takes out but for epsilon.
TEST(HyperConnections, StartAsPreLn) {
  const Rows pre = run({.name = "pre-ln"}, kX, toy());
  for (const char* variant : {"static", "dynamic"})
    EXPECT_LT(
        largest_difference(run({.name = "hyper-connections", .variant = variant}, kX, toy()), pre),
        1e-4);
}

TEST(HyperConnections, WithoutGatesAreTheirStaticForm) {
  A dynamic(kWidth), fixed(kWidth);
  const auto with = make(dynamic, kDecoder, {.name = "hyper-connections", .variant = "dynamic"});
  const auto without = make(fixed, kDecoder, {.name = "hyper-connections", .variant = "static"});
  uint64_t i = 0;
  for (const auto& [name, values] : fixed.parameters()) {
    for (double& value : *values) value += 0.2 * Random(4).uniform(i++);
    *dynamic.parameters().at(name) = *values;
  }
  const ToyBlocks f = toy(kDecoder);
  EXPECT_EQ(with->forward(kX, f).at, without->forward(kX, f).at);
  (*dynamic.parameters().at("gate.1"))[0] = 0.5;
  EXPECT_GT(largest_difference(with->forward(kX, f), without->forward(kX, f)), 1e-6);
}

TEST(Mhc, StartsAsPreLn) {
  EXPECT_LT(largest_difference(run({.name = "mhc"}, kX, toy()), run({.name = "pre-ln"}, kX, toy())),
            1e-4);
}

TEST(Mhc, MixesByMatricesWhoseRowsAndColumnsSumToOne) {
  A a(kWidth);
  const auto w = a.vectors("w", 9, 0);
  for (size_t i = 0; i < w.values->size(); ++i) (*w.values)[i] = Random(5).uniform(i) - 0.5;
  const auto m = sinkhorn(dots(w, kX), 20);
  for (size_t row = 0; row < 3; ++row) {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(m(row, 3 * i) + m(row, 3 * i + 1) + m(row, 3 * i + 2), 1, 1e-12);
      EXPECT_NEAR(m(row, i) + m(row, 3 + i) + m(row, 6 + i), 1, 1e-6);
    }
  }
}

// With queries of 0 a block sees the average of what is below it.
TEST(AttentionResiduals, StartAsAverages) {
  const ToyBlocks f = toy();
  const auto mean = [](const std::vector<Rows>& all) {
    Rows sum = scale(all[0], 0);
    for (const Rows& each : all) sum = add(sum, 1.0 / static_cast<double>(all.size()), each);
    return sum;
  };
  std::vector<Rows> all = {kX}, pairs = {kX};
  for (int k = 0; k < f.size(); ++k) all.push_back(f(k, layer_norm(mean(all))));
  EXPECT_LT(largest_difference(run({.name = "attention-residuals"}, kX, f), layer_norm(mean(all))),
            1e-12);
  for (int k = 0; k < f.size(); ++k) {
    const Rows z = f(k, layer_norm(mean(pairs)));
    if (k % 2 == 0) {
      pairs.push_back(z);
    } else {
      pairs.back() = add(pairs.back(), z);
    }
  }
  const Choice paired{.name = "attention-residuals",
                      .options = AttentionResiduals::Options{.group = 2}};
  EXPECT_LT(largest_difference(run(paired, kX, f), layer_norm(mean(pairs))), 1e-12);
}

}  // namespace
}  // namespace residual::schemes
