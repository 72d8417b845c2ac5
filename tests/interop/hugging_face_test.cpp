#include "interop/hugging_face.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "interop/export.h"
#include "interop/hugging_face_names.h"
#include "support/error_of.h"
#include "support/model_files.h"
#include "support/temporary.h"

namespace residual::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

model::Config llama() {
  model::Config c = model::test::small_config("pre-ln");
  c.kind = model::Kind::language;
  c.encoder_layers = 6;  // the default, as an import leaves it
  c.width = 16;
  c.heads = 4;
  c.key_value_heads = 2;
  c.norm = model::Norm::rms;
  c.given_norm_epsilon = 1e-6;
  c.positions = model::Positions::rotary;
  c.rotary_base = 500;
  c.activation = model::Activation::swish;
  c.gated = true;
  c.biases = false;
  c.sharing = model::Sharing::none;
  c.form = model::Form::hugging_face;
  return c;
}

model::Config gpt2() {
  model::Config c = llama();
  c.key_value_heads = 0;
  c.rotary_base = 10000;
  c.norm = model::Norm::layer;
  c.given_norm_epsilon = 1e-5;
  c.positions = model::Positions::learned;
  c.activation = model::Activation::gelu_tanh;
  c.gated = false;
  c.biases = true;
  c.sharing = model::Sharing::all;
  return c;
}

model::Config bert() {
  model::Config c = gpt2();
  c.kind = model::Kind::masked;
  c.encoder_layers = 2;
  c.decoder_layers = 6;
  c.activation = model::Activation::gelu;
  c.residual.name = "post-ln";
  return c;
}

class FamiliesOfHuggingFace : public testing::Test {
 protected:
  // The model of this configuration, exported and imported.
  model::Directory there_and_back(const model::Config& config) {
    model::test::write_small_model(directory_ / "ours", config);
    export_hugging_face(model::Directory::open(directory_ / "ours"), directory_ / "theirs");
    import_hugging_face({.directory = directory_ / "theirs"}, directory_ / "again");
    return model::Directory::open(directory_ / "again");
  }
  std::string error_of_export(const model::Config& config) {
    model::test::write_small_model(directory_ / "ours", config);
    return test::error_of([&] {
      export_hugging_face(model::Directory::open(directory_ / "ours"), directory_ / "theirs");
    });
  }
  // Of an import of a Llama model with something else in its config.json.
  std::string error_with(const std::string& before, const std::string& now) {
    there_and_back(llama());
    const fs::path file = directory_ / "theirs/config.json";
    std::string settings = read_file(file);
    const size_t at = settings.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    replace_file(file, settings.replace(at, before.size(), now));
    return test::error_of(
        [&] { import_hugging_face({.directory = directory_ / "theirs"}, directory_ / "other"); });
  }

  test::TemporaryDirectory directory_;
};

TEST_F(FamiliesOfHuggingFace, GetsBackWhatItWasGiven) {
  for (model::Config config : {llama(), gpt2(), bert()}) {
    SCOPED_TRACE(name_of(config.kind));
    const auto again = there_and_back(config);
    config.special_numbers = {0, 1, 2, 3};
    config.key_value_heads = again.description().model.key_value_heads;  // 0 stands for all
    EXPECT_EQ(to_toml(again.description().model), to_toml(config));
    EXPECT_THAT(again.description().model.special_numbers, ElementsAre(0, 1, 2, 3));
    const auto before = model::Directory::open(directory_ / "ours");
    for (const auto& p : model::parameters(config))
      EXPECT_EQ(again.parameter(p.name).bytes, before.parameter(p.name).bytes) << p.name;
    EXPECT_EQ(again.source_vocabulary().format(), before.source_vocabulary().format());
  }
}

// What training made has no biases of logits, begins texts with </s> and multiplies embeddings.
TEST_F(FamiliesOfHuggingFace, TakesTrainedModelsWhoseEmbeddingsAreMultiplied) {
  model::Config config = llama();
  config.form = model::Form::fairseq;
  config.sharing = model::Sharing::all;
  const auto again = there_and_back(config);
  const auto before = model::Directory::open(directory_ / "ours");
  EXPECT_EQ(again.description().model.sharing, model::Sharing::none);
  EXPECT_THAT(again.description().model.special_numbers, ElementsAre(2, 1, 2, 3));
  auto embedding = before.parameter("embedding.weight").to_float();
  // Our <s> begins no text there, and is a symbol like others.
  const Renumbering numbers({2, 1, 2, 3}, 10);
  EXPECT_EQ(again.description().model.output_vocabulary(), 11);
  EXPECT_EQ(again.parameter(model::kOutputEmbedding).to_float(), numbers.to_ours(embedding, 16));
  for (float& value : embedding) value *= 4;
  EXPECT_EQ(again.parameter(model::kTargetEmbedding).to_float(), numbers.to_ours(embedding, 16));
}

TEST_F(FamiliesOfHuggingFace, RefusesToExportWhatTheLibraryDoesNotRun) {
  model::Config config = llama();
  config.residual.name = "resi-dual";
  EXPECT_THAT(error_of_export(config), HasSubstr("is a resi-dual language model with rms norms"));
  config = gpt2();
  config.biases = false;
  EXPECT_THAT(error_of_export(config), HasSubstr("runs pre-ln language models"));
}

TEST_F(FamiliesOfHuggingFace, RefusesToImportWhatItDoesNotCompute) {
  EXPECT_THAT(error_with("\"llama\"", "\"mamba\""), HasSubstr("model_type is \"mamba\""));
  EXPECT_THAT(error_with("\"silu\"", "\"mish\""), HasSubstr("hidden_act is \"mish\""));
  EXPECT_THAT(error_with("\"vocab_size\"", "\"rope_scaling\": {\"factor\": 2}, \"vocab_size\""),
              HasSubstr("rope_scaling is"));
  EXPECT_THAT(error_with("\"vocab_size\"", "\"head_dim\": 3, \"vocab_size\""),
              HasSubstr("head_dim is 3"));
  EXPECT_THAT(error_with("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1"),
              HasSubstr("which a model with its options does not use"));
  EXPECT_THAT(error_with("\"hidden_size\": 16", "\"hidden_size\": 24"), HasSubstr("has shape"));
  EXPECT_THAT(error_with("{", "["), HasSubstr("is not a JSON object"));
}

TEST_F(FamiliesOfHuggingFace, SaysWhatADirectoryLacks) {
  fs::create_directories(directory_ / "theirs");
  const auto error = [&] {
    return test::error_of(
        [&] { import_hugging_face({.directory = directory_ / "theirs"}, directory_ / "other"); });
  };
  EXPECT_THAT(error(), HasSubstr("expected config.json and model.safetensors"));
  replace_file(directory_ / "theirs/model.safetensors.index.json", "{}");
  EXPECT_THAT(error(), HasSubstr("its weights are in several files"));
}

TEST(Renumbering, PutsSpecialSymbolsFirstAndBack) {
  // <s> and </s> are one symbol, 4; there is no <pad>; <unk> is 0.
  const Renumbering numbers({4, -1, 4, 0}, 5);
  EXPECT_EQ(numbers.ours(), 7);
  const std::vector<float> theirs = {0, 1, 2, 3, 4};
  EXPECT_THAT(numbers.to_ours(theirs, 1), ElementsAre(4, 0, 4, 0, 1, 2, 3));
  EXPECT_EQ(numbers.to_theirs(numbers.to_ours(theirs, 1), 1), theirs);
  std::vector<bool> extra;
  for (int64_t id = 0; id < 7; ++id) extra.push_back(numbers.is_extra(id));
  EXPECT_THAT(extra, ElementsAre(true, true, false, false, false, false, false));
  EXPECT_THROW(Renumbering({5, -1, 4, 0}, 5), Error);
  EXPECT_THROW(Renumbering({1, 2}, 5), Error);
}

}  // namespace
}  // namespace residual::interop
