#include "interop/fairseq.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "interop/fairseq_import.h"
#include "schemes/registry.h"
#include "schemes/resi_dual.h"
#include "support/model_files.h"
#include "support/paths.h"
#include "support/temporary.h"

namespace residual::interop {
namespace {

using testing::AllOf;
using testing::ElementsAreArray;
using testing::HasSubstr;

model::SafeTensors fixture(const std::string& scheme) {
  return model::SafeTensors::open(fs::path(test::fixtures()) / "fairseq" /
                                  (scheme + "-e2d2.safetensors"));
}

class Fairseq : public testing::TestWithParam<const char*> {};

TEST_P(Fairseq, ArchitectureIsReadOffTheTensors) {
  const model::SafeTensors file = fixture(GetParam());
  const model::Config c = fairseq_config(file, {.prefix = "param."});
  EXPECT_EQ(c.residual.name, file.metadata().at("scheme"));
  EXPECT_EQ(schemes::options_of<schemes::ResiDual>(c.residual).eta,
            std::stod(file.metadata().at("eta")));
  EXPECT_EQ(c.encoder_layers, 2);
  EXPECT_EQ(c.decoder_layers, 2);
  EXPECT_EQ(c.width, 16);
  EXPECT_EQ(c.inner, 32);
  EXPECT_EQ(c.heads, 2);
  EXPECT_EQ(c.source_vocabulary, 40);
  EXPECT_EQ(c.target_vocabulary, 40);
  EXPECT_EQ(c.sharing, model::Sharing::all);
}

TEST_P(Fairseq, EveryTensorIsUsedOnce) {
  const model::SafeTensors file = fixture(GetParam());
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
  const model::SafeTensors file = fixture(GetParam());
  const model::Config config = fairseq_config(file, {.prefix = "param."});
  const auto all = model::parameters(config);
  const auto values = fairseq_values(file, config, "param.");
  ASSERT_EQ(values.size(), all.size());
  size_t checked = 0;
  for (const auto& part : fairseq_parts(config)) {
    const size_t i = static_cast<size_t>(
        std::ranges::find(all, part.name, &model::Parameter::name) - all.begin());
    ASSERT_EQ(values[i].size(), static_cast<size_t>(all[i].size()));
    const int64_t columns = all[i].size() / all[i].shape[0];
    const auto theirs = file.at("param." + part.fairseq).values<float>();
    EXPECT_THAT(std::span(values[i]).subspan(part.begin * columns, part.rows * columns),
                testing::ElementsAreArray(theirs));
    checked += theirs.size();
  }
  EXPECT_EQ(checked, static_cast<size_t>(model::parameter_count(config)));
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
  for (const auto& part : fairseq_parts(model::test::small_config())) {
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
  EXPECT_THROW(fairseq_parts(model::test::small_config("admin")), Error);
  model::Config language = model::test::small_config();
  language.kind = model::Kind::language;
  EXPECT_THROW(fairseq_parts(language), Error);
}

// A copy of a fixture's parameters under other names; the callback may change the list.
using Change = std::function<void(std::vector<model::TensorBytes>&)>;

void write_copy(const fs::path& to, const std::string& prefix, const Change& change = {},
                const std::map<std::string, std::string>& metadata = {{"heads", "2"}}) {
  const model::SafeTensors file = fixture("resi-dual");
  std::vector<model::TensorBytes> tensors;
  for (const auto& [name, t] : file.tensors()) {
    if (!name.starts_with("param.")) continue;
    tensors.push_back({prefix + name.substr(6), t.dtype, t.shape, t.bytes});
  }
  if (change) change(tensors);
  model::write_safetensors(to, tensors, metadata);
}

class ImportFairseq : public testing::Test {
 protected:
  ImportFairseq() {
    std::string dictionary;
    for (int i = 4; i < 40; ++i) dictionary += fmt::format("w{} {}\n", i, 100 - i);
    replace_file(directory_ / "dict.txt", dictionary);
  }

  FairseqImport options() {
    return {.weights = directory_ / "weights",
            .architecture = {.scheme = "resi-dual"},
            .source_dictionary = directory_ / "dict.txt",
            .target_dictionary = directory_ / "dict.txt",
            .source_language = "de",
            .target_language = "en"};
  }
  // What importing says; "" if it does.
  std::string import() {
    try {
      import_fairseq(options(), directory_ / "model");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  residual::test::TemporaryDirectory directory_;
};

TEST_F(ImportFairseq, MakesAModelWithTheSameValues) {
  for (const char* prefix : {"", "model.", "module.", "param."}) {
    write_copy(directory_ / "weights", prefix);
    EXPECT_EQ(import(), "");
    const model::Directory model = model::Directory::open(directory_ / "model");
    EXPECT_EQ(model.direction("", "").source, "de");
    EXPECT_EQ(model.source_vocabulary().symbol(4), "w4");
    EXPECT_EQ(model.segmenter("en").options().subwords, "none");
    EXPECT_THAT(
        model.weights().at("decoder.residual.dual_norm.bias").values<float>(),
        ElementsAreArray(fixture("resi-dual").at("param.decoder.layer_norm.bias").values<float>()));
  }
}

TEST_F(ImportFairseq, KeepsTwoDictionariesOfOneLanguageApart) {
  const std::vector<float> other(40 * 16, 0.5F);
  write_copy(directory_ / "weights", "", [&](auto& tensors) {
    const auto* const bytes = reinterpret_cast<const char*>(other.data());
    tensors.push_back(
        {"decoder.embed_tokens.weight", model::Dtype::f32, {40, 16}, {bytes, 4 * other.size()}});
  });
  std::string dictionary;
  for (int i = 4; i < 40; ++i) dictionary += fmt::format("t{} 1\n", i);
  replace_file(directory_ / "target.txt", dictionary);
  FairseqImport one_language = options();
  one_language.target_dictionary = directory_ / "target.txt";
  one_language.source_language = one_language.target_language = "en";
  import_fairseq(one_language, directory_ / "model");
  const model::Directory model = model::Directory::open(directory_ / "model");
  EXPECT_EQ(model.source_vocabulary().symbol(4), "w4");
  EXPECT_EQ(model.target_vocabulary().symbol(4), "t4");
}

TEST_F(ImportFairseq, PassesOverWhatFairseqNeverUses) {
  const std::vector<float> zeros(48 * 16);
  const auto bytes = [&](size_t n) {
    return std::string_view(reinterpret_cast<const char*>(zeros.data()), 4 * n);
  };
  write_copy(directory_ / "weights", "", [&](auto& tensors) {
    tensors.push_back({"encoder.version", model::Dtype::f32, {1}, bytes(1)});
    tensors.push_back({"decoder.embed_positions._float_tensor", model::Dtype::f32, {1}, bytes(1)});
    tensors.push_back(
        {"encoder.layers.1.in_proj_weight", model::Dtype::f32, {48, 16}, bytes(48 * 16)});
    tensors.push_back({"encoder.layers.0.fc2_bias", model::Dtype::f32, {16}, bytes(16)});
  });
  EXPECT_EQ(import(), "");
}

TEST_F(ImportFairseq, NamesWhatIsMissingAndWhatHasNoPlace) {
  write_copy(directory_ / "weights", "", [](auto& tensors) {
    std::erase_if(tensors, [](const auto& t) { return t.name.ends_with(".k_proj.bias"); });
  });
  EXPECT_THAT(import(), AllOf(HasSubstr("lacks encoder.layers.0.self_attn.k_proj.bias, "),
                              HasSubstr("and 1 more")));
  write_copy(directory_ / "weights", "", [](auto& tensors) {
    tensors.push_back(tensors[0]);
    tensors.back().name = "encoder.embed_positions.weight";
  });
  EXPECT_THAT(import(), HasSubstr("has encoder.embed_positions.weight, which"));
  write_copy(directory_ / "weights", "ema.");
  EXPECT_THAT(import(), HasSubstr("has no tensor encoder.layers.0.fc1.weight"));
}

TEST_F(ImportFairseq, WhatTheTensorsDoNotSayMustBeGiven) {
  write_copy(directory_ / "weights", "", {}, {});
  EXPECT_THAT(import(), HasSubstr("does not say how many attention heads there are"));
  write_copy(directory_ / "weights", "", {}, {{"heads", "two"}});
  EXPECT_THAT(import(), HasSubstr("metadata \"heads\" is \"two\", expected a number"));
  for (const std::string heads : {"0", "-2", "2.5", "32", "1e300"}) {
    write_copy(directory_ / "weights", "", {}, {{"heads", heads}});
    EXPECT_THAT(import(), HasSubstr("metadata \"heads\" is \"" + heads +
                                    "\", expected a whole number from 1 to 16; give --heads"));
  }
}

TEST_F(ImportFairseq, WhatNoModelMayHaveIsNotWritten) {
  write_copy(directory_ / "weights", "");
  for (const int64_t positions : {int64_t{1}, int64_t{99'999'999'999}}) {
    FairseqImport impossible = options();
    impossible.architecture.max_positions = positions;
    EXPECT_THROW(import_fairseq(impossible, directory_ / "model"), Error);
    EXPECT_FALSE(fs::exists(directory_ / "model"));
  }
}

TEST_F(ImportFairseq, AnotherDictionaryIsRefused) {
  write_copy(directory_ / "weights", "");
  replace_file(directory_ / "dict.txt", "a 1\nb 1\n");
  EXPECT_THAT(import(), HasSubstr("has 6 symbols with <s>, <pad>, </s> and <unk>, the embedding "
                                  "has 40 rows"));
}

}  // namespace
}  // namespace residual::interop
