#include "run/artifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "run/average.h"
#include "run/checkpoint.h"
#include "run/run_directory.h"
#include "run/verify.h"
#include "support/error_of.h"
#include "support/model_files.h"
#include "support/temporary.h"

namespace residual::run {
namespace {

using model::test::small_config;
using model::test::Weights;
using model::test::write_small_model;
using residual::test::error_of;
using residual::test::TemporaryDirectory;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// All parameters are `value`.
Checkpoint checkpoint_of(int64_t update, float value) {
  Checkpoint c;
  c.values.assign(static_cast<size_t>(model::parameter_count(small_config())), value);
  c.m = c.v = c.values;
  c.state.update = update;
  return c;
}

fs::path checkpoint_file(const fs::path& run, int64_t update) {
  return run / kCheckpoints / checkpoint_name(update);
}

// A run of four updates, each of which doubled all parameters.
class Run : public testing::Test {
 protected:
  Run() {
    TrainConfig config;
    config.model = small_config();
    config.data.prepared = "prepared";
    fs::create_directories(run_ / kCheckpoints);
    replace_file(run_ / kRunConfig, to_toml(config));
    for (int64_t update = 1; update <= 4; ++update) {
      Checkpoint c = checkpoint_of(update, std::exp2(static_cast<float>(update)));
      c.state.best = {{3, 0.5}, {1, 0.75}};
      c.state.epoch_ends = {2, 4};
      write_checkpoint(checkpoint_file(run_.path(), update), config.model, c);
    }
    write_small_model(run_ / "last", config.model);
  }

  // The first value of the mean of the chosen checkpoints.
  float mean(const CheckpointChoice& choice) {
    average({run_.path()}, choice, run_ / "mean");
    return model::Directory::open(run_ / "mean")
        .weights()
        .at("embedding.weight")
        .values<float>()[0];
  }

  TemporaryDirectory run_;
};

TEST_F(Run, AveragesTheCheckpointsThatAreChosen) {
  EXPECT_EQ(mean({}), (2 + 4 + 8 + 16) / 4.0F);
  EXPECT_EQ(mean({.last = 2}), (8 + 16) / 2.0F);
  EXPECT_EQ(mean({.last = 9}), (2 + 4 + 8 + 16) / 4.0F);
  EXPECT_EQ(mean({.best = 1}), 8);
  EXPECT_EQ(mean({.last = 2, .best = 1, .updates = {4}}), (8 + 16) / 2.0F);
  EXPECT_EQ(mean({.best = 2}), (8 + 2) / 2.0F);
  replace_file(run_ / kMetrics,
               "{\"kind\":\"valid\",\"update\":1,\"loss\":0.75}\n"
               "{\"kind\":\"valid\",\"update\":2,\"loss\":0.7}\n"
               "{\"kind\":\"valid\",\"update\":3,\"loss\":0.5}\n"
               "{\"kind\":\"valid\",\"update\":4,\"loss\":null}\n");
  EXPECT_EQ(mean({.best = 2}), (8 + 4) / 2.0F);
  EXPECT_EQ(mean({.best = 9}), (8 + 4 + 2) / 3.0F);
  EXPECT_EQ(mean({.epochs = 2}), (4 + 16) / 2.0F);
  EXPECT_EQ(mean({.updates = {1, 3}}), (2 + 8) / 2.0F);
  const auto made = model::Directory::open(run_ / "mean").description();
  EXPECT_EQ(made.update, 3);
  EXPECT_EQ(made.origin,
            "mean of 000000001.safetensors (update 1), 000000003.safetensors (update 3)");
}

TEST_F(Run, AveragingNamesCheckpointsThatAreNotThereOrDamaged) {
  EXPECT_THAT(error_of([&] { mean({.updates = {7}}); }),
              HasSubstr("has no checkpoint of update 7; available updates: 1, 2, 3, 4"));
  std::string bytes = read_file(checkpoint_file(run_.path(), 2));
  bytes.back() ^= 1;
  replace_file(checkpoint_file(run_.path(), 2), bytes);
  EXPECT_THAT(error_of([&] { mean({}); }), HasSubstr("is damaged"));
  EXPECT_FALSE(fs::exists(run_ / "mean"));
}

TEST_F(Run, IsDescribedByItsConfigurationAndNewestCheckpoint) {
  const auto about = describe(run_.path());
  EXPECT_EQ(about["type"], "run directory");
  EXPECT_EQ(about["scheme"]["name"], "resi-dual");
  EXPECT_EQ(about["checkpoints"].get<std::vector<int64_t>>(), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(about["state"]["update"], 4);
  EXPECT_EQ(about["state"]["best_validation"]["update"], 3);
  EXPECT_EQ(describe(checkpoint_file(run_.path(), 3))["parameters"],
            model::parameter_count(small_config()));
}

TEST_F(Run, VerifyingFindsEveryProblem) {
  EXPECT_THAT(verify(run_.path()).problems, IsEmpty());
  std::string bytes = read_file(checkpoint_file(run_.path(), 2));
  bytes.back() ^= 1;
  replace_file(checkpoint_file(run_.path(), 2), bytes);
  write_checkpoint(checkpoint_file(run_.path(), 3), small_config(), checkpoint_of(3, NAN));
  fs::remove(run_ / "last/vocabulary.txt");
  replace_file(run_ / "metrics.jsonl", "{\"update\": 1}\n{\"update\": \n{\"half a line");
  const auto problems = verify(run_.path()).problems;
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr("000000002"), HasSubstr("is damaged"))));
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr("000000003"), HasSubstr("not finite"))));
  EXPECT_THAT(problems, Contains(HasSubstr("last/vocabulary.txt: cannot open")));
  EXPECT_THAT(problems, Contains(HasSubstr("metrics.jsonl: line 2 is not JSON")));
  EXPECT_THAT(verify(checkpoint_file(run_.path(), 2)).problems, SizeIs(1));
  EXPECT_THAT(verify(checkpoint_file(run_.path(), 4)).problems, IsEmpty());
}

TEST(Verify, ListsAllThatIsWrongWithAModel) {
  const TemporaryDirectory directory;
  const auto config = small_config();
  const auto description = model::test::small_description(directory / "text", config);
  Weights weights(config);
  std::erase_if(weights.tensors(), [](const auto& t) { return t.name.ends_with("qkv.bias"); });
  write_directory(directory / "m", description, weights.tensors(), directory / "text");
  replace_file(directory / "m/vocabulary.txt", "a 1\n");
  EXPECT_THAT(verify(directory / "m").problems,
              ElementsAre(HasSubstr("no tensor encoder.layers.0.self_attention.qkv.bias"),
                          HasSubstr("no tensor encoder.layers.1.self_attention.qkv.bias"),
                          HasSubstr("no tensor decoder.layers.0.self_attention.qkv.bias"),
                          HasSubstr("no tensor decoder.layers.1.self_attention.qkv.bias"),
                          HasSubstr("vocabulary.txt: has 5 symbols, the model has 10")));
}

TEST(Verify, NoticesRowsThatHaveChangedSinceTheirScreenWasMade) {
  const TemporaryDirectory directory;
  auto config = small_config();
  config.width = 128;
  config.target_vocabulary = config.source_vocabulary = 4096;
  write_small_model(directory / "m", config);
  EXPECT_THAT(verify(directory / "m").problems, IsEmpty());
  std::string bytes = read_file(directory / "m/model.safetensors");
  const auto rows = model::SafeTensors::parse(bytes, "m").at(model::output_embedding(config)).bytes;
  bytes[rows.data() - bytes.data() + 3] ^= 1;  // in the first number's exponent
  replace_file(directory / "m/model.safetensors", bytes);
  EXPECT_THAT(verify(directory / "m").problems, ElementsAre(HasSubstr("changed after")));
}

TEST(Verify, OpensBundles) {
  const TemporaryDirectory directory;
  write_small_model(directory / "m", small_config());
  const auto model = model::Directory::open(directory / "m");
  Weights weights(small_config());
  model::write_bundle(directory / "m.residual", model.description(), weights.tensors(), model);
  EXPECT_THAT(verify(directory / "m.residual").problems, IsEmpty());
  EXPECT_EQ(describe(directory / "m.residual")["type"], "model bundle");
  fs::resize_file(directory / "m.residual", fs::file_size(directory / "m.residual") - 1);
  EXPECT_THROW(verify(directory / "m.residual"), Error);
}

TEST(Average, OfModelsIsTheirMeanInDouble) {
  const TemporaryDirectory directory;
  const auto config = small_config("admin");
  std::vector<fs::path> models;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    models.push_back(directory / std::to_string(seed));
    write_small_model(models.back(), config, seed);
  }
  average(models, {}, directory / "mean");
  const auto mean = model::Directory::open(directory / "mean");
  const Weights a(config, 1), b(config, 2), c(config, 3);
  const auto list = model::parameters(config);
  for (size_t i = 0; i < list.size(); ++i) {
    const auto got = mean.weights().at(list[i].name).values<float>();
    for (size_t j = 0; j < got.size(); ++j) {
      const double sum = double{a.values()[i][j]} + b.values()[i][j] + c.values()[i][j];
      ASSERT_EQ(got[j], static_cast<float>(sum / 3)) << list[i].name;
    }
  }
  EXPECT_EQ(mean.source_vocabulary().size(), 10);
}

TEST(Average, OfDifferentArchitecturesIsRefused) {
  const TemporaryDirectory directory;
  write_small_model(directory / "a", small_config("post-ln"));
  write_small_model(directory / "b", small_config("b2t"));
  EXPECT_THAT(error_of([&] {
                average({directory / "a", directory / "b"}, {}, directory / "c");
              }),
              HasSubstr("have different architectures"));
}

TEST(Artifact, WhatIsNoneSaysWhatWouldMakeItOne) {
  const TemporaryDirectory directory;
  EXPECT_THAT(error_of([&] { artifact_at(directory.path()); }),
              HasSubstr("not a model (no model.safetensors)"));
  EXPECT_THAT(error_of([&] { artifact_at(directory / "x"); }), HasSubstr("no such file"));
  replace_file(directory / "letter.txt", "dear");
  EXPECT_THAT(error_of([&] { artifact_at(directory / "letter.txt"); }),
              HasSubstr("expected a directory, a *.safetensors, *.residual or *.corpus file"));
}

}  // namespace
}  // namespace residual::run
