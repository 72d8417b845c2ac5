// Every scheme of the registry on plain doubles: the properties all must have, then each one's own
// identities and constants.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "schemes/make.h"
#include "schemes/sandwich.h"
#include "schemes/toy_blocks.h"
#include "support/error_of.h"

namespace residual::schemes {
namespace {

using residual::test::error_of;

struct Case {
  Choice choice;
  Stack stack;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.choice.name << " " << c.choice.variant; }

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.choice.name + "_" + info.param.choice.variant +
                     (info.param.stack.side == Side::encoder ? "_encoder" : "_decoder");
  std::ranges::replace(name, '-', '_');
  return name;
}

// One that is not in the list has the same properties.
const bool kIsAdded = [] {
  add_scheme<Sandwich, A>();
  return true;
}();

// Every variant of every scheme, in both stacks.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& entry : registry()) {
    auto variants = entry.variants;
    if (variants.empty()) variants.emplace_back();
    for (const auto& variant : variants) {
      for (const auto& stack : {kEncoder, kDecoder}) {
        cases.push_back({{.name = entry.name, .variant = variant}, stack});
      }
    }
  }
  return cases;
}

class EveryScheme : public testing::TestWithParam<Case> {
 protected:
  EveryScheme() : scheme(make(arithmetic, GetParam().stack, GetParam().choice)) {
    // Away from the special values that training starts from (ReZero's 0, a norm's 1 and 0).
    uint64_t i = 0;
    for (const auto& [name, values] : arithmetic.parameters()) {
      for (double& value : *values) {
        value += (i % 2 == 0 ? 1 : -1) * (0.1 + 0.2 * Random(3).uniform(i));
        ++i;
      }
    }
  }
  ToyBlocks blocks() const {
    return {GetParam().stack.blocks(), GetParam().stack.blocks_per_layer};
  }

  A arithmetic{kWidth};
  std::unique_ptr<Scheme<A>> scheme;
};
INSTANTIATE_TEST_SUITE_P(Registry, EveryScheme, testing::ValuesIn(all_cases()), name_of);

TEST_P(EveryScheme, KeepsTheShape) {
  const Rows x = random_rows(5, 1);
  const Rows y = scheme->forward(x, blocks());
  EXPECT_EQ(y.width, x.width);
  EXPECT_EQ(y.at.size(), x.at.size());
  for (const double v : y.at) EXPECT_TRUE(std::isfinite(v));
}

// What stepwise decoding rests on: nothing but the blocks mixes positions.
TEST_P(EveryScheme, TreatsEachPositionByItself) {
  const Rows x = random_rows(4, 2);
  const Rows whole = scheme->forward(x, blocks());
  for (size_t row = 0; row < 4; ++row) {
    const auto begin = x.at.begin() + static_cast<long>(row * kWidth);
    const Rows one{.width = kWidth, .at = {begin, begin + kWidth}};
    const Rows alone = scheme->forward(one, blocks());
    for (size_t j = 0; j < kWidth; ++j) EXPECT_EQ(alone.at[j], whole.at[row * kWidth + j]);
  }
}

TEST_P(EveryScheme, LetsEveryBlockAndTheInputReachTheOutput) {
  const Rows x = random_rows(2, 3);
  const Rows y = scheme->forward(x, blocks());
  for (size_t k = 0; k < static_cast<size_t>(GetParam().stack.blocks()); ++k) {
    ToyBlocks changed = blocks();
    changed.strength[k] += 0.01;
    EXPECT_GT(largest_difference(scheme->forward(x, changed), y), 1e-7) << "block " << k;
  }
  EXPECT_GT(largest_difference(scheme->forward(random_rows(2, 4), blocks()), y), 1e-3);
}

// One that is not used changes no bit. Some that are used change little: a norm takes out what
// scales equal streams.
TEST_P(EveryScheme, UsesEveryParameterItDeclares) {
  const Rows x = random_rows(2, 5);
  const Rows y = scheme->forward(x, blocks());
  for (const auto& [name, values] : arithmetic.parameters()) {
    (*values)[0] += 0.1;
    EXPECT_GT(largest_difference(scheme->forward(x, blocks()), y), 0) << name;
    (*values)[0] -= 0.1;
  }
}

TEST_P(EveryScheme, GivesTheSameTwice) {
  const Rows x = random_rows(2, 6);
  EXPECT_EQ(scheme->forward(x, blocks()).at, scheme->forward(x, blocks()).at);
}

TEST(ResiDual, SilentBlocksGiveTwiceTheNormalisedInput) {
  const Rows x = random_rows(3, 1);
  EXPECT_LT(
      largest_difference(run({.name = "resi-dual"}, x, toy(kEncoder, 0)), scale(layer_norm(x), 2)),
      1e-4);
}

TEST(ResiDual, OutputMinusTheDualStreamIsPostLnsOutput) {
  const Rows x = random_rows(3, 2);
  const ToyBlocks f = toy();
  // The dual stream by hand: the embedding plus what every block gave along Post-LN's path.
  Rows d = x, at = x;
  for (int k = 0; k < f.size(); ++k) {
    const Rows fx = f(k, at);
    d = add(d, fx);
    at = layer_norm(add(at, fx));
  }
  EXPECT_LT(largest_difference(run({.name = "post-ln"}, x, f), at), 1e-12);
  EXPECT_LT(largest_difference(run({.name = "resi-dual"}, x, f), add(at, layer_norm(d, 1e-7))),
            1e-12);
}

TEST(ResiDual, EtaChangesNothingButTheWeightOfEpsilon) {
  const Rows x = random_rows(3, 3);
  const Rows y = run({.name = "resi-dual"}, x, toy());
  EXPECT_LT(largest_difference(
                run({.name = "resi-dual", .options = ResiDual::Options{.eta = 0.05}}, x, toy()), y),
            1e-3);
  EXPECT_GT(largest_difference(
                run({.name = "resi-dual", .options = ResiDual::Options{.eta = 1e-4}}, x, toy()), y),
            1e-2);
}

TEST(ResiDual, EtaByDepthIsAPowerOfTwoThatLeavesRoomForAllAddends) {
  EXPECT_EQ(safe_eta({.layers = 6, .blocks_per_layer = 2}), 1.0 / 16);
  EXPECT_EQ(safe_eta({.layers = 6, .blocks_per_layer = 3}), 1.0 / 32);
  EXPECT_EQ(safe_eta({.layers = 18, .blocks_per_layer = 3}), 1.0 / 64);
  EXPECT_EQ(safe_eta({.layers = 10, .blocks_per_layer = 3}), 1.0 / 32);  // 32 addends
  const Rows x = random_rows(3, 3);
  const Choice by_depth{.name = "resi-dual", .options = ResiDual::Options{.eta = 0}};
  const Choice given{.name = "resi-dual", .options = ResiDual::Options{.eta = safe_eta(kEncoder)}};
  EXPECT_EQ(largest_difference(run(by_depth, x, toy()), run(given, x, toy())), 0);
}

TEST(ResiDual, OptionsOfTheAuthorsCodeDoWhatTheySay) {
  const Rows x = random_rows(3, 4);
  const Rows post = run({.name = "post-ln"}, x, toy());
  const Rows y = run({.name = "resi-dual"}, x, toy());
  EXPECT_LT(
      largest_difference(
          run({.name = "resi-dual", .options = ResiDual::Options{.output_scale = 3}}, x, toy()),
          add(y, 2, post)),
      1e-12);
  EXPECT_GT(largest_difference(
                run({.name = "resi-dual", .options = ResiDual::Options{.dual_from_zero = true}}, x,
                    toy()),
                y),
            1e-2);
}

TEST(PostLn, SilentBlocksNormaliseTheInput) {
  const Rows x = random_rows(3, 5);
  EXPECT_LT(largest_difference(run({.name = "post-ln"}, x, toy(kEncoder, 0)), layer_norm(x)), 1e-4);
}

TEST(PreLn, SilentBlocksNormaliseTheInputOnce) {
  const Rows x = random_rows(3, 6);
  EXPECT_LT(largest_difference(run({.name = "pre-ln"}, x, toy(kEncoder, 0)), layer_norm(x)), 1e-15);
}

TEST(Sandwich, SilentBlocksNormaliseTheInputOnce) {
  const Rows x = random_rows(3, 6);
  EXPECT_LT(largest_difference(run({.name = "sandwich"}, x, toy(kEncoder, 0)), layer_norm(x)),
            1e-15);
}

TEST(DeepNorm, WithAlphaOneIsPostLn) {
  const Rows x = random_rows(3, 7);
  EXPECT_EQ(run({.name = "deepnorm", .options = DeepNorm::Options{.alpha = 1}}, x, toy()).at,
            run({.name = "post-ln"}, x, toy()).at);
}

TEST(Admin, WithOmegaOneIsPostLn) {
  const Rows x = random_rows(3, 8);
  EXPECT_EQ(run({.name = "admin"}, x, toy()).at, run({.name = "post-ln"}, x, toy()).at);
}

// omega_{k+1}^2 = Var[omega_k x_k] + Var[f_k], where x_k has unit variance after a norm.
TEST(Admin, ProfilingAccumulatesTheBlocksVariances) {
  A a(kWidth);
  const auto scheme = make(a, kEncoder, {.name = "admin"});
  const Rows x = random_rows(200, 9);
  const ToyBlocks f = toy();
  scheme->calibrate(x, f);
  const auto omega = [&](int k) { return (*a.parameters().at(numbered("omega", k)))[kWidth - 1]; };
  EXPECT_EQ(omega(0), 1);
  EXPECT_NEAR(omega(1) * omega(1), variance(x) + variance(f(0, x)), 1e-12);
  for (int k = 1; k + 1 < kEncoder.blocks(); ++k) EXPECT_GT(omega(k + 1), omega(k));
  // The next omega from the definition, one block further.
  const Rows x1 = layer_norm(add(x, f(0, x)));
  EXPECT_NEAR(omega(2) * omega(2), omega(1) * omega(1) * variance(x1) + variance(f(1, x1)), 1e-9);
}

TEST(B2t, IsPostLnWithASkipOverEachLayer) {
  const Rows x = random_rows(3, 10);
  const Stack one = {.side = Side::decoder, .layers = 1, .other_layers = 1, .blocks_per_layer = 3};
  const ToyBlocks f = toy(one);
  const Rows u = layer_norm(add(x, f(0, x)));
  const Rows v = layer_norm(add(u, f(1, u)));
  EXPECT_LT(
      largest_difference(run({.name = "b2t"}, x, f, one), layer_norm(add(add(x, v), f(2, v)))),
      1e-12);
}

// With w_ll = 1 and the other weights 0 every layer sees the one below it only.
TEST(Dlcl, WithOnlyTheLastLayersWeightIsItsPlainStack) {
  for (const char* variant : {"pre", "post"}) {
    A a(kWidth);
    const auto scheme = make(a, kEncoder, {.name = "dlcl", .variant = variant});
    for (int l = 0; l <= kEncoder.layers; ++l) {
      for (int k = 0; k <= l; ++k) {
        (*a.parameters().at(numbered(numbered("weight", l), k)))[0] = k == l ? 1 : 0;
      }
    }
    const Rows x = random_rows(3, 11);
    const Rows y = scheme->forward(x, toy());
    if (std::string(variant) == "post") {
      // Layers are Post-LN, so normalising their output again changes it by epsilon only.
      EXPECT_LT(largest_difference(y, run({.name = "post-ln"}, x, toy())), 1e-3);
    } else {
      Rows at = x;
      const ToyBlocks f = toy();
      for (int k = 0; k < f.size(); ++k) {
        at = add(at, f(k, layer_norm(at)));
        if (f.closes_layer(k)) at = layer_norm(at);
      }
      EXPECT_LT(largest_difference(y, layer_norm(at)), 1e-12);
    }
  }
}

TEST(Dlcl, WeightsStartAsAnAverage) {
  A a(kWidth);
  make(a, kEncoder, {.name = "dlcl"});
  for (int l = 0; l <= kEncoder.layers; ++l) {
    double sum = 0;
    for (int k = 0; k <= l; ++k) sum += (*a.parameters().at(numbered(numbered("weight", l), k)))[0];
    EXPECT_NEAR(sum, 1, 1e-15);
  }
}

TEST(ReZero, StartsAsTheIdentity) {
  const Rows x = random_rows(3, 12);
  for (const char* variant : {"layer", "block"}) {
    EXPECT_EQ(run({.name = "rezero", .variant = variant}, x, toy()).at, x.at);
  }
}

TEST(ReZero, HasOneScalarPerLayerOrPerBlock) {
  for (const auto& [variant, count] : {std::pair{"layer", 2u}, std::pair{"block", 6u}}) {
    A a(kWidth);
    make(a, kDecoder, {.name = "rezero", .variant = variant});
    EXPECT_EQ(a.parameters().size(), count);
  }
}

TEST(TFixup, AddsWhatBlocksGive) {
  const Rows x = random_rows(3, 13);
  const Stack one = {.layers = 1};
  const ToyBlocks f = toy(one);
  const Rows x1 = add(x, f(0, x));
  EXPECT_EQ(run({.name = "t-fixup"}, x, f, one).at, add(x1, f(1, x1)).at);
}

TEST(TauResNet, ScalesBranchesByOneOverTheRootOfTheirNumber) {
  const Rows x = random_rows(3, 14);
  const Stack one = {.layers = 2};
  const ToyBlocks f = toy(one);
  Rows at = x;
  for (int k = 0; k < 4; ++k) at = add(at, 0.5, f(k, at));
  EXPECT_EQ(run({.name = "tau-resnet"}, x, f, one).at, at.at);
}

// Encoder and decoder values for depths 6, 12, 18 from the DeepNet paper's formulas.
TEST(DeepNorm, HasThePapersConstants) {
  const double expected[3][5] = {{6, 1.41794, .49699, 2.05977, .34329},
                                 {12, 1.76088, .40020, 2.44949, .28868},
                                 {18, 1.99875, .35257, 2.71081, .26085}};
  for (const auto& [layers, alpha_e, beta_e, alpha_d, beta_d] : expected) {
    const int n = static_cast<int>(layers);
    const Stack encoder = {.side = Side::encoder, .layers = n, .other_layers = n};
    const Stack decoder = {.side = Side::decoder, .layers = n, .other_layers = n};
    EXPECT_NEAR(deepnorm_alpha(encoder), alpha_e, 5e-6);
    EXPECT_NEAR(deepnorm_beta(encoder), beta_e, 5e-6);
    EXPECT_NEAR(deepnorm_alpha(decoder), alpha_d, 5e-6);
    EXPECT_NEAR(deepnorm_beta(decoder), beta_d, 5e-6);
  }
  EXPECT_NEAR(deepnorm_alpha({.layers = 8, .other_layers = 0}), 2, 1e-12);
}

TEST(Admin, HasTheLaterCodesClosedForms) {
  const auto omega = [](Side side, int layers, int per_layer) {
    A a(kWidth);
    make(a, {.side = side, .layers = layers, .blocks_per_layer = per_layer},
         {.name = "admin", .variant = "log"});
    return (*a.parameters().at("omega.0"))[0];
  };
  EXPECT_NEAR(omega(Side::encoder, 6, 2), 2.01701, 5e-6);
  EXPECT_NEAR(omega(Side::decoder, 6, 3), 2.33513, 5e-6);
  EXPECT_NEAR(omega(Side::encoder, 18, 2), 3.04084, 5e-6);
  EXPECT_NEAR(omega(Side::decoder, 18, 3), 3.56719, 5e-6);
}

TEST(Init, OfTFixupScalesTheValuePath) {
  const Stack encoder = {.side = Side::encoder, .layers = 6};
  const Stack decoder = {.side = Side::decoder, .layers = 6, .blocks_per_layer = 3};
  EXPECT_NEAR(TFixup::init(Role::value, encoder, {}).gain, 0.42809, 5e-6);
  EXPECT_NEAR(TFixup::init(Role::outer, decoder, {}).gain, 0.36889, 5e-6);
  EXPECT_NEAR(TFixup::init(Role::embedding, encoder, {}).gain, 0.36889, 5e-6);
  EXPECT_NEAR(TFixup::init(Role::query, encoder, {}).gain, std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(TFixup::init(Role::inner, {.layers = 18}, {}).gain, 0.32528, 5e-6);
}

// Variances for a unit-variance input, width d: q, k, v 1/(2d), out 1/d, W1 1/(3d), W2 1/(3f).
TEST(Init, OfFairseqHasTheDocumentedLaws) {
  EXPECT_EQ(init_fairseq(Role::query).law, Law::xavier_uniform);
  EXPECT_NEAR(init_fairseq(Role::query).gain * init_fairseq(Role::query).gain, 0.5, 1e-12);
  EXPECT_EQ(init_fairseq(Role::query).bias_gain, 1);
  EXPECT_EQ(init_fairseq(Role::output).gain, 1);
  EXPECT_EQ(init_fairseq(Role::output).bias_gain, 0);
  EXPECT_EQ(init_fairseq(Role::inner).law, Law::fan_in_uniform);
  EXPECT_EQ(init_xavier(Role::inner).law, Law::xavier_uniform);
  EXPECT_EQ(init_xavier(Role::query).bias_gain, 0);
}

TEST(Init, OfB2tsLaterVersionShrinksWithDepth) {
  const Stack stack = {.layers = 6};
  EXPECT_NEAR(B2t::init(Role::output, stack, {.variant = "scaled"}).gain, 0.40825, 5e-6);
  EXPECT_EQ(B2t::init(Role::output, stack, {.variant = "original"}).gain, 1);
}

TEST(Init, OfTorchscaleHasItsEncoderFactorInverted) {
  const Stack encoder = {.side = Side::encoder, .layers = 6, .other_layers = 6};
  const DeepNorm::Options options = {.variant = "torchscale"};
  const double x = std::pow(std::pow(6.0, 4) * 6, 1.0 / 16);
  EXPECT_NEAR(DeepNorm::init(Role::output, encoder, options).gain, 1.15 / x, 1e-9);
  EXPECT_NEAR(DeepNorm::init(Role::inner, encoder, options).bias_gain, 1.15 / x, 1e-9);
  EXPECT_NEAR(DeepNorm::init(Role::output, encoder, {.variant = "paper"}).gain, 0.87 / x, 1e-9);
}

TEST(Registry, ExplainsWhatItDoesNotKnow) {
  const auto message = [](const Choice& choice) { return error_of([&] { resolve(choice); }); };
  EXPECT_EQ(message({.name = "residual"}),
            "unknown residual scheme \"residual\"; did you mean \"resi-dual\"?");
  EXPECT_EQ(message({.name = "admin", .variant = "logs"}),
            "admin: no variant \"logs\"; it has: profiled, log, constant");
}

Choice read(const std::string& text, Choice choice = {}) {
  read_toml(text, "f", [&](ConfigVisitor& visit) { fields(visit, choice); });
  return choice;
}

TEST(Choice, ReadsTheOptionsOfTheSchemeThatItNames) {
  const Choice deep = read("alpha = 1.5\nname = \"deepnorm\"\nvariant = \"torchscale\"");
  EXPECT_EQ(options_of<DeepNorm>(deep).alpha, 1.5);
  EXPECT_EQ(options_of<DeepNorm>(deep).variant, "torchscale");
  EXPECT_EQ(to_toml(deep), "name = \"deepnorm\"\nvariant = \"torchscale\"\nalpha = 1.5\n");
  EXPECT_EQ(to_toml(read(to_toml(deep))), to_toml(deep));
}

TEST(Choice, ResetsItsOptionsWithItsName) {
  const Choice deep = read("name = \"deepnorm\"\nvariant = \"torchscale\"\nalpha = 1.5");
  EXPECT_EQ(options_of<DeepNorm>(read("name = \"deepnorm\"", deep)).alpha, 1.5);
  EXPECT_EQ(to_toml(read("name = \"admin\"", deep)), "name = \"admin\"\nvariant = \"\"\n");
}

TEST(Choice, KnowsNoKeysOfOtherSchemes) {
  const auto message = [](const std::string& text) { return error_of([&] { read(text); }); };
  EXPECT_EQ(message("name = \"post-ln\"\neta = 0.1"),
            "f:2: unknown key \"eta\"; resi-dual has it; known here: name, variant");
  EXPECT_EQ(message("name = \"deepnorm\"\nalpah = 2"),
            "f:2: unknown key \"alpah\"; did you mean \"alpha\"?");
  EXPECT_EQ(message("eta = -1"), "f:1: eta: must be at least 0, is -1");
}

TEST(Choice, DoesNotDependOnTheOrderOfSettings) {
  const auto set = [](std::vector<std::string> settings) {
    Choice choice;
    apply_settings<Choice>(settings, choice);
    return to_toml(choice);
  };
  EXPECT_EQ(set({"alpha=1.5", "name=deepnorm"}), set({"name=deepnorm", "alpha=1.5"}));
  const std::string fault =
      "--set eta=2: unknown key \"eta\"; resi-dual has it; known here: name, variant";
  EXPECT_EQ(error_of([&] { set({"eta=2", "name=post-ln"}); }), fault);
  EXPECT_EQ(error_of([&] { set({"name=post-ln", "eta=2"}); }), fault);
}

// As model directories, runs and checkpoints of older versions have them.
TEST(Choice, PassesOverOtherSchemesKeysAtTheirDefaults) {
  const std::string old =
      "variant = \"\"\neta = 1.0\noutput_scale = 1.0\ndual_from_zero = false\nalpha = 0.0\n";
  for (const auto& entry : registry()) {
    const Choice choice = read("name = \"" + entry.name + "\"\n" + old);
    EXPECT_EQ(to_toml(choice), to_toml(Choice{.name = entry.name}));
  }
}

TEST(Registry, NamesAreUnique) {
  std::set<std::string> names;
  for (const auto& entry : registry()) names.insert(entry.name);
  ASSERT_TRUE(kIsAdded);
  EXPECT_EQ(names.size(), registry().size());
}

}  // namespace
}  // namespace residual::schemes
