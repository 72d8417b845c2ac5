#include "model/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "schemes/registry.h"
#include "support/model_files.h"

namespace residual::model {
namespace {

using testing::Contains;

Config sized(int64_t layers, int64_t width, const std::string& scheme, std::string variant = "") {
  Config c;
  c.encoder_layers = c.decoder_layers = layers;
  c.width = width;
  c.inner = 4 * width;
  c.heads = width / 64;
  c.source_vocabulary = c.target_vocabulary = 1000;
  c.residual.name = scheme;
  c.residual.variant = std::move(variant);
  return c;
}

int64_t without_embedding(const Config& c) {
  return parameter_count(c) - c.source_vocabulary * c.width;
}

std::set<std::string> names_of(const Config& config) {
  std::set<std::string> names;
  for (const auto& p : parameters(config)) names.insert(p.name);
  return names;
}

const Parameter& named(const std::vector<Parameter>& all, const std::string& name) {
  return *std::ranges::find(all, name, &Parameter::name);
}

std::vector<float> drawn(const Config& config, const std::string& name, uint64_t seed = 1) {
  const auto all = parameters(config);
  const Parameter& p = named(all, name);
  std::vector<float> values(static_cast<size_t>(p.size()));
  initialise(p, config, seed, values);
  return values;
}

// Of `count` values from `begin` on; the laws have mean 0.
double variance(const std::vector<float>& values, size_t begin = 0, size_t count = SIZE_MAX) {
  double sum = 0;
  count = std::min(count, values.size() - begin);
  for (size_t i = begin; i < begin + count; ++i) sum += double{values[i]} * values[i];
  return sum / static_cast<double>(count);
}

// What fairseq's Transformers of the paper's sizes have, embeddings aside.
TEST(Parameters, CountsOfThePapersSizes) {
  EXPECT_EQ(without_embedding(sized(6, 256, "post-ln")), 11'059'200);
  EXPECT_EQ(without_embedding(sized(12, 256, "post-ln")), 22'118'400);
  EXPECT_EQ(without_embedding(sized(6, 512, "post-ln")), 44'138'496);
  EXPECT_EQ(without_embedding(sized(18, 512, "post-ln")), 132'415'488);
}

// Six layers a side: N = 12 + 18 blocks.
TEST(Parameters, EachSchemeAddsItsOwn) {
  constexpr int64_t d = 256, blocks = 30, norms = 2 * d * blocks;
  const int64_t bare = without_embedding(sized(6, d, "post-ln")) - norms;
  const auto own = [&](const std::string& scheme, const std::string& variant = "") {
    return without_embedding(sized(6, d, scheme, variant)) - bare;
  };
  EXPECT_EQ(own("pre-ln"), norms + 4 * d);
  EXPECT_EQ(own("resi-dual"), norms + 4 * d);
  EXPECT_EQ(own("deepnorm"), norms);
  EXPECT_EQ(own("b2t"), norms);
  EXPECT_EQ(own("admin"), norms + d * blocks);
  EXPECT_EQ(own("dlcl", "post"), norms + 2 * (6 * 2 * d + 7 * 8 / 2));
  EXPECT_EQ(own("dlcl", "pre"), norms + 2 * (7 * 2 * d + 7 * 8 / 2));
  EXPECT_EQ(own("rezero", "layer"), 12);
  EXPECT_EQ(own("rezero", "block"), blocks);
  EXPECT_EQ(own("t-fixup"), 0);
  EXPECT_EQ(own("tau-resnet"), 0);
}

TEST(Parameters, NamesAreUniqueInEverySchemeAndKind) {
  for (const auto& entry : schemes::registry()) {
    for (const Kind kind : {Kind::translation, Kind::language, Kind::masked}) {
      Config config = test::small_config(entry.name);
      config.kind = kind;
      EXPECT_EQ(names_of(config).size(), parameters(config).size()) << entry.name;
    }
  }
}

TEST(Parameters, EmbeddingsAreAsManyAsAreNotShared) {
  Config config = test::small_config();
  const auto embeddings = [&](Kind kind, Sharing sharing) {
    config.kind = kind;
    config.sharing = sharing;
    int64_t count = 0;
    for (const auto& p : parameters(config)) count += p.block < 0 && p.shape.size() == 2;
    for (const auto& name :
         {source_embedding(config), target_embedding(config), output_embedding(config)}) {
      const bool wanted = !(name == kSourceEmbedding && !config.has_encoder()) &&
                          !(name == kTargetEmbedding && !config.has_decoder());
      EXPECT_EQ(names_of(config).contains(name), wanted) << name;
    }
    return count;
  };
  EXPECT_EQ(embeddings(Kind::translation, Sharing::all), 1);
  EXPECT_EQ(embeddings(Kind::translation, Sharing::target), 2);
  EXPECT_EQ(embeddings(Kind::translation, Sharing::none), 3);
  EXPECT_EQ(embeddings(Kind::language, Sharing::all), 1);
  EXPECT_EQ(embeddings(Kind::language, Sharing::none), 2);
  EXPECT_EQ(embeddings(Kind::masked, Sharing::all), 1);
  EXPECT_EQ(embeddings(Kind::masked, Sharing::none), 2);
}

TEST(Parameters, AModelWithOneStackHasNothingOfTheOther) {
  Config config = test::small_config();
  config.kind = Kind::language;
  for (const auto& name : names_of(config)) {
    EXPECT_FALSE(name.starts_with("encoder.") || name.find("cross_attention") != std::string::npos)
        << name;
  }
  EXPECT_THAT(names_of(config), Contains("decoder.layers.1.feed_forward.outer.weight"));
  config.kind = Kind::masked;
  for (const auto& name : names_of(config)) EXPECT_FALSE(name.starts_with("decoder.")) << name;
}

TEST(Parameters, PartsCoverTheirRows) {
  for (const auto& p : parameters(test::small_config())) {
    if (p.parts.empty()) continue;
    int64_t rows = 0;
    for (const auto& part : p.parts) rows += part.rows;
    EXPECT_EQ(rows, p.shape[0]) << p.name;
  }
}

// Variances of fairseq 0.12: q, k, v 1/(2d), output 1/d, feed-forward 1/(3 inputs), embedding 1/d.
TEST(Initialise, HasFairseqsVariances) {
  constexpr int64_t d = 256;
  const Config config = sized(1, d, "resi-dual");
  const auto near = [](double variance, double expected) {
    EXPECT_NEAR(variance / expected, 1, 0.02);
  };
  near(variance(drawn(config, "embedding.weight")), 1.0 / d);
  const auto qkv = drawn(config, "encoder.layers.0.self_attention.qkv.weight");
  for (size_t part = 0; part < 3; ++part) near(variance(qkv, part * d * d, d * d), 0.5 / d);
  near(variance(drawn(config, "decoder.layers.0.cross_attention.key_value.weight")), 0.5 / d);
  near(variance(drawn(config, "encoder.layers.0.self_attention.output.weight")), 1.0 / d);
  near(variance(drawn(config, "encoder.layers.0.feed_forward.inner.weight")), 1.0 / (3 * d));
  near(variance(drawn(config, "encoder.layers.0.feed_forward.outer.weight")), 1.0 / (3 * 4 * d));
}

TEST(Initialise, UniformLawsStayWithinTheirBounds) {
  const Config config = sized(1, 256, "resi-dual");
  const auto largest = [&](const char* name) {
    const auto values = drawn(config, name);
    return std::abs(*std::ranges::max_element(values, {}, [](float v) { return std::abs(v); }));
  };
  EXPECT_NEAR(largest("encoder.layers.0.self_attention.qkv.weight"), std::sqrt(1.5 / 256), 1e-5);
  EXPECT_NEAR(largest("encoder.layers.0.feed_forward.inner.weight"), 1.0 / 16, 1e-5);
  EXPECT_LE(largest("encoder.layers.0.self_attention.qkv.bias"), 1.0 / 16);
  EXPECT_LE(largest("encoder.layers.0.feed_forward.outer.bias"), 1.0 / 32);
}

TEST(Initialise, PadHasNoEmbeddingAndNormsStartAsIdentities) {
  Config config = test::small_config();
  config.sharing = Sharing::none;
  for (const char* name : {kSourceEmbedding, kTargetEmbedding, kOutputEmbedding}) {
    const auto values = drawn(config, name);
    EXPECT_EQ(variance(values, 1 * 8, 8), 0) << name;
    EXPECT_GT(variance(values, 0 * 8, 8), 0) << name;
    EXPECT_GT(variance(values, 2 * 8, 8), 0) << name;
  }
  for (const float v : drawn(config, "encoder.residual.norm.0.weight")) EXPECT_EQ(v, 1);
  for (const float v : drawn(config, "encoder.residual.norm.0.bias")) EXPECT_EQ(v, 0);
  for (const float v : drawn(config, "encoder.layers.0.self_attention.output.bias")) {
    EXPECT_EQ(v, 0);
  }
}

TEST(Initialise, SchemesWithTheSameLawStartFromTheSameBlocks) {
  const Config a = test::small_config("resi-dual"), b = test::small_config("pre-ln");
  for (const auto& p : parameters(a)) {
    if (p.parts.empty()) continue;
    EXPECT_EQ(drawn(a, p.name), drawn(b, p.name)) << p.name;
    if (p.name.ends_with("output.bias")) continue;  // zero
    EXPECT_NE(drawn(a, p.name), drawn(a, p.name, 2)) << p.name;
  }
  EXPECT_NE(drawn(a, "encoder.layers.0.self_attention.qkv.weight"),
            drawn(a, "encoder.layers.1.self_attention.qkv.weight"));
}

// Only what lies on the value path is scaled: queries and keys keep Xavier's 1/(2d).
TEST(Initialise, TFixupScalesItsPublishedRoles) {
  constexpr size_t d = 256;
  const Config config = sized(6, d, "t-fixup");
  const auto near = [](double variance, double expected) {
    EXPECT_NEAR(variance / expected, 1, 0.02);
  };
  constexpr double encoder = 0.42809, decoder = 0.36889;  // 0.67 N^-1/4, (9 N)^-1/4
  const auto qkv = drawn(config, "encoder.layers.3.self_attention.qkv.weight");
  near(variance(qkv, 0, 2 * d * d), 0.5 / d);
  near(variance(qkv, 2 * d * d), encoder * encoder / d);
  const auto cross = drawn(config, "decoder.layers.3.cross_attention.key_value.weight");
  near(variance(cross, 0, d * d), 0.5 / d);
  near(variance(cross, d * d), decoder * decoder / d);
  near(variance(drawn(config, "decoder.layers.0.feed_forward.inner.weight")),
       decoder * decoder * 2 / (5 * d));
  near(variance(drawn(config, "embedding.weight")), decoder * decoder / d);
  EXPECT_EQ(variance(drawn(config, "encoder.layers.0.feed_forward.inner.bias")), 0);
}

TEST(Initialise, DeepNormScalesTheValuePathByBeta) {
  constexpr size_t d = 256;
  const Config config = sized(6, d, "deepnorm");
  const auto near = [](double variance, double expected) {
    EXPECT_NEAR(variance / expected, 1, 0.03);
  };
  constexpr double encoder = 0.49699, decoder = 0.34329;
  const auto qkv = drawn(config, "encoder.layers.0.self_attention.qkv.weight");
  near(variance(qkv, 0, 2 * d * d), 1.0 / d);
  near(variance(qkv, 2 * d * d), encoder * encoder / d);
  near(variance(drawn(config, "decoder.layers.5.cross_attention.output.weight")),
       decoder * decoder / d);
  near(variance(drawn(config, "encoder.layers.0.feed_forward.outer.weight")),
       encoder * encoder * 2 / (5 * d));
}

}  // namespace
}  // namespace residual::model
