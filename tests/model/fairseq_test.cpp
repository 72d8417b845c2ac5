#include "model/fairseq.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "model/models.h"

namespace residual::model {
namespace {

SafeTensors fixture(const std::string& scheme) {
  return SafeTensors::open(fs::path(RESIDUAL_TEST_DATA) / "fairseq" /
                           (scheme + "-e2d2.safetensors"));
}

class Fairseq : public testing::TestWithParam<const char*> {};

TEST_P(Fairseq, ArchitectureIsReadOffTheTensors) {
  const SafeTensors file = fixture(GetParam());
  const Config c = fairseq_config(file, {.prefix = "param."});
  EXPECT_EQ(c.residual.name, file.metadata().at("scheme"));
  EXPECT_EQ(c.residual.eta, std::stod(file.metadata().at("eta")));
  EXPECT_EQ(c.encoder_layers, 2);
  EXPECT_EQ(c.decoder_layers, 2);
  EXPECT_EQ(c.width, 16);
  EXPECT_EQ(c.inner, 32);
  EXPECT_EQ(c.heads, 2);
  EXPECT_EQ(c.source_vocabulary, 40);
  EXPECT_EQ(c.target_vocabulary, 40);
  EXPECT_EQ(c.sharing, Sharing::all);
}

TEST_P(Fairseq, EveryTensorIsUsedOnce) {
  const SafeTensors file = fixture(GetParam());
  std::multiset<std::string> used, there;
  for (const auto& part : fairseq_parts(fairseq_config(file, {.prefix = "param."}))) {
    used.insert("param." + part.fairseq);
  }
  for (const auto& [name, tensor] : file.tensors()) {
    if (name.starts_with("param.")) there.insert(name);
  }
  EXPECT_EQ(used, there);
}

TEST_P(Fairseq, ValuesLandWhereTheirPartSays) {
  const SafeTensors file = fixture(GetParam());
  const Config config = fairseq_config(file, {.prefix = "param."});
  const auto all = parameters(config);
  const auto values = fairseq_values(file, config, "param.");
  ASSERT_EQ(values.size(), all.size());
  size_t checked = 0;
  for (const auto& part : fairseq_parts(config)) {
    const size_t i =
        static_cast<size_t>(std::ranges::find(all, part.name, &Parameter::name) - all.begin());
    ASSERT_EQ(values[i].size(), static_cast<size_t>(all[i].size()));
    const int64_t columns = all[i].size() / all[i].shape[0];
    const auto theirs = file.at("param." + part.fairseq).values<float>();
    EXPECT_THAT(std::span(values[i]).subspan(part.begin * columns, part.rows * columns),
                testing::ElementsAreArray(theirs));
    checked += theirs.size();
  }
  EXPECT_EQ(checked, static_cast<size_t>(parameter_count(config)));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Fairseq,
                         testing::Values("post-ln", "pre-ln", "resi-dual", "resi-dual-eta"),
                         [](const auto& which) {
                           std::string name = which.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(FairseqNames, FollowTheBlocks) {
  std::map<std::string, std::string> names;
  for (const auto& part : fairseq_parts(test::small_config())) {
    names[fmt::format("{}:{}", part.name, part.begin)] = part.fairseq;
  }
  EXPECT_EQ(names["encoder.layers.1.self_attention.qkv.weight:8"],
            "encoder.layers.1.self_attn.k_proj.weight");
  EXPECT_EQ(names["decoder.layers.1.cross_attention.key_value.bias:8"],
            "decoder.layers.1.encoder_attn.v_proj.bias");
  EXPECT_EQ(names["decoder.layers.0.feed_forward.outer.weight:0"], "decoder.layers.0.fc2.weight");
  EXPECT_EQ(names["encoder.residual.norm.3.weight:0"], "encoder.layers.1.final_layer_norm.weight");
  EXPECT_EQ(names["decoder.residual.norm.4.bias:0"],
            "decoder.layers.1.encoder_attn_layer_norm.bias");
  EXPECT_EQ(names["decoder.residual.dual_norm.bias:0"], "decoder.layer_norm.bias");
}

TEST(FairseqNames, ExistForTheSchemesOfFairseqOnly) {
  EXPECT_THROW(fairseq_parts(test::small_config("admin")), Error);
  Config language = test::small_config();
  language.kind = Kind::language;
  EXPECT_THROW(fairseq_parts(language), Error);
}

}  // namespace
}  // namespace residual::model
