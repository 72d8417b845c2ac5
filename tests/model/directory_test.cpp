#include "model/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "schemes/registry.h"
#include "support/error_of.h"
#include "support/model_files.h"
#include "support/temporary.h"

namespace residual::model {
namespace {

using residual::test::error_of;
using residual::test::TemporaryDirectory;
using testing::AllOf;
using testing::ElementsAreArray;
using testing::HasSubstr;

std::string opening(const fs::path& path) {
  return error_of([&] { Directory::open(path); });
}

void replace_in(const fs::path& file, const std::string& from, const std::string& to) {
  std::string text = read_file(file);
  text.replace(text.find(from), from.size(), to);
  replace_file(file, text);
  write_checksums(file.parent_path());
}

TEST(Directory, GivesBackWhatWasWrittenForEveryScheme) {
  const TemporaryDirectory directory;
  for (const auto& entry : schemes::registry()) {
    const Config config = test::small_config(entry.name);
    test::write_small_model(directory / entry.name, config);
    const Directory model = Directory::open(directory / entry.name);
    EXPECT_EQ(to_toml(model.description().model), to_toml(config));
    EXPECT_EQ(model.description().update, 3);
    const test::Weights written(config);
    const auto all = parameters(config);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_THAT(model.weights().at(all[i].name).values<float>(),
                  ElementsAreArray(written.values()[i]));
    }
  }
}

// Looking up reads rows, which panels do not have.
TEST(Directory, RefusesPanelsOfAMatrixThatIsOnlyLookedUp) {
  const TemporaryDirectory directory;
  Config config = test::small_config();
  config.sharing = Sharing::target;
  const Description description = test::small_description(directory / "text", config);
  test::Weights weights(config);
  const std::string panels(size_t{4} * 64 * config.width, '\0');
  for (auto& tensor : weights.tensors()) {
    if (tensor.name != kSourceEmbedding) continue;
    tensor = {tensor.name + kPanels, Dtype::f32, {1, config.width, 64}, panels};
  }
  write_directory(directory / "m", description, weights.tensors(), directory / "text");
  EXPECT_THAT(opening(directory / "m"), HasSubstr("has no tensor source_embedding.weight"));
}

TEST(Directory, RefusesAScreenThatDoesNotFitItsMatrix) {
  const TemporaryDirectory directory;
  const Config config = test::small_config();
  const Description description = test::small_description(directory / "text", config);
  const std::string name = output_embedding(config), zeros(size_t{4} * 64 * config.width, '\0');
  const auto opened_with = [&](const std::vector<TensorBytes>& screen, Dtype rows = Dtype::f32) {
    test::Weights weights(config);
    for (auto& tensor : weights.tensors()) {
      if (tensor.name != name || rows == Dtype::f32) continue;
      tensor = {name, rows, tensor.shape,
                std::string_view(zeros).substr(0, tensor.bytes.size() / 2)};
    }
    for (const auto& tensor : screen) weights.tensors().push_back(tensor);
    fs::remove_all(directory / "m");
    write_directory(directory / "m", description, weights.tensors(), directory / "text");
    return opening(directory / "m");
  };
  const auto bytes = [&](int64_t count) { return std::string_view(zeros).substr(0, count); };
  const TensorBytes panels = {name + kPanels, Dtype::i16, {1, 8, 64}, bytes(2 * 8 * 64)};
  const TensorBytes scale = {name + kScale, Dtype::f32, {10}, bytes(4 * 10)};
  EXPECT_EQ(opened_with({panels, scale}), "");
  EXPECT_THAT(opened_with({panels}), HasSubstr("embedding.weight.panels is I16 but has no "
                                               "embedding.weight.scale"));
  EXPECT_THAT(opened_with({panels, {name + kScale, Dtype::f32, {9}, bytes(4 * 9)}}),
              HasSubstr("embedding.weight.scale is F32 [9], expected F32 [10]"));
  EXPECT_THAT(opened_with({{panels.name, Dtype::i16, {2, 8, 32}, panels.bytes}, scale}),
              HasSubstr("expected I16 [1, 8, 64] beside embedding.weight"));
  EXPECT_THAT(opened_with({{panels.name, Dtype::f32, {1, 8, 64}, bytes(4 * 8 * 64)}, scale}),
              HasSubstr("is F32 [1, 8, 64], expected I16 [1, 8, 64]"));
  EXPECT_THAT(opened_with({panels, scale}, Dtype::f16),
              HasSubstr("embedding.weight is F16, expected F32 beside embedding.weight.panels"));
}

TEST(Directory, BringsItsVocabularyAndSegmentation) {
  const TemporaryDirectory directory;
  test::write_small_model(directory / "m", test::small_config());
  const Directory model = Directory::open(directory / "m");
  EXPECT_EQ(model.source_vocabulary().size(), 10);
  EXPECT_EQ(model.target_vocabulary().id("c"), 6);
  std::string pieces;
  model.segmenter("en").to_pieces()("a b", pieces);
  EXPECT_EQ(pieces, "a b");
  EXPECT_EQ(
      text_files(model.description(), model.path()),
      (std::vector<std::string>{"segmentation.de.toml", "segmentation.en.toml", "vocabulary.txt"}));
}

TEST(Directory, ARunStandsForItsBestModelOrItsLast) {
  const TemporaryDirectory run;
  test::write_small_model(run / "last", test::small_config());
  EXPECT_EQ(Directory::open(run.path()).path(), run / "last");
  test::write_small_model(run / "best", test::small_config());
  EXPECT_EQ(Directory::open(run.path()).path(), run / "best");
}

TEST(Directory, WhatIsNotAModelIsSaidToBeNone) {
  const TemporaryDirectory directory;
  EXPECT_THAT(opening(directory.path()), HasSubstr("not a model directory"));
  EXPECT_THAT(opening(directory / "none"), HasSubstr("no such directory"));
}

TEST(Directory, AnotherFormatIsRefusedNamingItsWriter) {
  const TemporaryDirectory directory;
  test::write_small_model(directory / "m", test::small_config());
  replace_in(directory / "m/config.toml", "format = 1", "format = 2");
  EXPECT_THAT(opening(directory / "m"),
              AllOf(HasSubstr("config.toml: has format 2, this version reads format 1"),
                    HasSubstr("written by ResiDual 0.")));
}

// A model may come from anyone, and copying it would write to what it names.
TEST(Directory, NamesOnlyFilesBesideIt) {
  const TemporaryDirectory directory;
  const auto opened_with = [&](const std::string& from, const std::string& to) {
    fs::remove_all(directory / "m");
    test::write_small_model(directory / "m", test::small_config());
    replace_in(directory / "m/config.toml", from, to);
    return opening(directory / "m");
  };
  for (const std::string key : {"source_vocabulary = ", "target_vocabulary = "}) {
    for (const std::string file : {"../v.txt", "/dev/zero", "a/b", "..", ".", ""}) {
      EXPECT_THAT(opened_with(key + "\"vocabulary.txt\"", key + '"' + file + '"'),
                  HasSubstr("config.toml: source_vocabulary, target_vocabulary: expected the name"))
          << key << file;
    }
  }
  EXPECT_THAT(opened_with("target = \"de\"", "target = \"../de\""),
              HasSubstr("language \"../de\": expected letters"));
  EXPECT_THAT(opened_with("source = \"en\"", "source = \"\""), HasSubstr("language \"\""));
  EXPECT_NO_THROW(check_language("sr@latin"));
}

TEST(Directory, ErrorsOfTheConfigurationNameItsFile) {
  const TemporaryDirectory directory;
  test::write_small_model(directory / "m", test::small_config());
  replace_in(directory / "m/config.toml", "heads = 2", "heads = 3");
  EXPECT_THAT(opening(directory / "m"),
              AllOf(HasSubstr("m/config.toml: model.width"), HasSubstr("3 heads")));
}

// Changes the tensors of a good model and tells what opening it says.
std::string opening_with(const std::function<void(std::vector<TensorBytes>&)>& change) {
  const TemporaryDirectory directory;
  const Config config = test::small_config();
  const Description description = test::small_description(directory / "text", config);
  test::Weights weights(config);
  change(weights.tensors());
  write_directory(directory / "m", description, weights.tensors(), directory / "text");
  return opening(directory / "m");
}

TEST(Directory, TensorsThatDoNotFitAreNamed) {
  EXPECT_EQ(opening_with([](auto&) {}), "");
  EXPECT_THAT(opening_with([](auto& tensors) { tensors.erase(tensors.begin() + 1); }),
              HasSubstr("has no tensor encoder.layers.0.self_attention.qkv.weight, which a "
                        "resi-dual model of this size needs"));
  EXPECT_THAT(opening_with([](auto& tensors) {
                tensors[1].name += "s";
                tensors.push_back(tensors[1]);
                tensors.back().name.pop_back();
              }),
              HasSubstr("has a tensor encoder.layers.0.self_attention.qkv.weights, which a "
                        "resi-dual model does not have"));
  EXPECT_THAT(opening_with([](auto& tensors) {
                tensors[0].shape = {8, 10};
              }),
              HasSubstr("embedding.weight has shape [8, 10], config.toml requires [10, 8]"));
}

TEST(Directory, WritingReplacesAModelAndNothingElse) {
  const TemporaryDirectory directory;
  test::write_small_model(directory / "m", test::small_config("post-ln"));
  test::write_small_model(directory / "m", test::small_config("pre-ln"));
  EXPECT_EQ(Directory::open(directory / "m").description().model.residual.name, "pre-ln");

  fs::create_directory(directory / "mine");
  replace_file(directory / "mine/letter.txt", "dear");
  EXPECT_NE(error_of([&] { test::write_small_model(directory / "mine", test::small_config()); }),
            "");
  EXPECT_EQ(read_file(directory / "mine/letter.txt"), "dear");
}

TEST(Directory, DirectionsAreFoundByWhatIsUnambiguous) {
  const TemporaryDirectory directory;
  const Config config = test::small_config();
  Description description = test::small_description(directory / "text", config);
  description.directions = {{"en", "de", "<2de>"}, {"de", "en", "<2en>"}};
  test::Weights weights(config);
  write_directory(directory / "m", description, weights.tensors(), directory / "text");
  const Directory model = Directory::open(directory / "m");
  EXPECT_EQ(model.direction("en", "").source_tag, "<2de>");
  EXPECT_EQ(model.direction("", "en").source_tag, "<2en>");
  EXPECT_THAT(error_of([&] { model.direction("", ""); }),
              HasSubstr("translates en-de, de-en; choose one (from, to)"));
  EXPECT_THAT(error_of([&] { model.direction("fr", ""); }),
              HasSubstr("does not translate fr to any language; it translates en-de, de-en"));
}

TEST(Directory, ATagOfTheTargetMakesZeroShotDirections) {
  const TemporaryDirectory directory;
  const Config config = test::small_config();
  Description description = test::small_description(directory / "text", config);
  test::Weights weights(config);
  const auto with = [&](std::vector<Direction> directions) {
    description.directions = std::move(directions);
    write_directory(directory / "m", description, weights.tensors(), directory / "text");
    return Directory::open(directory / "m");
  };
  const Directory many =
      with({{"en", "de", "<2de>"}, {"fr", "en", "<2en>"}, {"de", "en", "<2en>"}});
  const Direction found = many.direction("fr", "de");
  EXPECT_EQ(found.source, "fr");
  EXPECT_EQ(found.target, "de");
  EXPECT_EQ(found.source_tag, "<2de>");
  EXPECT_FALSE(many.lists("fr", "de"));
  EXPECT_TRUE(many.lists("fr", "en"));
  const auto refuses = [](const Directory& model, const char* source, const char* target) {
    const std::string expected = fmt::format("does not translate {} to {}; it", source, target);
    EXPECT_THAT(error_of([&] { model.direction(source, target); }), HasSubstr(expected));
  };
  refuses(many, "es", "de");  // a source that the model has not seen
  refuses(many, "de", "fr");  // no tag for the target
  refuses(many, "en", "en");
  refuses(with({{"en", "de", ""}, {"fr", "en", ""}}), "fr", "de");
  refuses(with({{"en", "de", "<2de>"}, {"es", "de", "<es2de>"}, {"fr", "en", "<2en>"}}), "fr",
          "de");  // tags that name the source too
}

}  // namespace
}  // namespace residual::model
