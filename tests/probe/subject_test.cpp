#include "probe/subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "data/prepared.h"
#include "model/export.h"
#include "run/run_directory.h"
#include "schemes/registry.h"
#include "schemes/resi_dual.h"
#include "support/temporary.h"
#include "support/tiny_run.h"
#include "support/torch_models.h"

namespace residual::probe {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string letters() {
  std::string vocabulary;
  for (char c = 'a'; c < 'a' + 19; ++c) vocabulary += {c, ' ', '1', '\n'};
  return vocabulary;
}

// A model directory of random weights.
fs::path write_model(const fs::path& path, const std::string& vocabulary = letters()) {
  model::Config config = test::tiny_config({.name = "pre-ln"});
  config.source_vocabulary = config.target_vocabulary =
      text::Vocabulary::parse(vocabulary, "vocabulary").size();
  nn::Parameters parameters(config);
  parameters.initialise(5);
  std::vector<model::TensorBytes> tensors;
  for (size_t i = 0; i < parameters.list().size(); ++i) {
    const auto& p = parameters.list()[i];
    const auto* bytes = reinterpret_cast<const char*>(parameters[i].data_ptr<float>());
    tensors.push_back({p.name,
                       model::Dtype::f32,
                       p.shape,
                       {bytes, static_cast<size_t>(p.size()) * sizeof(float)}});
  }
  model::Description description;
  description.directions = {{.source = "en", .target = "de"}};
  description.model = parameters.config();
  model::write_directory(path, description, tensors, [&](const fs::path& directory) {
    replace_file(directory / "vocabulary.txt", vocabulary);
    for (const char* language : {"en", "de"}) {
      text::Segmenter({.language = language, .tokenizer = "none", .subwords = "none"}, "")
          .save(directory, language);
    }
  });
  return path;
}

TEST(Subjects, WithoutAnyAreThePapersSmallModelInTheSchemesAskedFor) {
  const auto subjects =
      open_subjects({.schemes = {"post-ln", "deepnorm:torchscale"}, .layers = 18});
  ASSERT_EQ(subjects.size(), 2u);
  EXPECT_EQ(subjects[0].label, "post-ln");
  EXPECT_EQ(subjects[1].config.model.residual.variant, "torchscale");
  EXPECT_EQ(subjects[1].config.model.decoder_layers, 18);
  EXPECT_EQ(subjects[0].config.model.width, 256);
  EXPECT_TRUE(subjects[0].initial);
}

TEST(Subjects, AreReadFromRecipes) {
  const test::TemporaryDirectory directory;
  std::ofstream(directory / "small.toml") << "[model]\nwidth = 8\nheads = 2\n";
  const auto subjects =
      open_subjects({.subjects = {directory / "small.toml"}, .settings = {"model.inner=24"}});
  ASSERT_EQ(subjects.size(), 1u);
  EXPECT_EQ(subjects[0].label, "small");
  EXPECT_EQ(subjects[0].config.model.width, 8);
  EXPECT_EQ(subjects[0].config.model.inner, 24);
}

TEST(Subjects, OfAModelDirectoryHaveItsWeights) {
  const test::TemporaryDirectory directory;
  const auto subjects = open_subjects({.subjects = {write_model(directory / "letters")}});
  ASSERT_EQ(subjects.size(), 1u);
  EXPECT_EQ(subjects[0].label, "letters");
  EXPECT_FALSE(subjects[0].initial);
  nn::Parameters loaded(subjects[0].config.model), expected(subjects[0].config.model);
  subjects[0].load(loaded);
  expected.initialise(5);
  EXPECT_TRUE(loaded.values().equal(expected.values()));
}

TEST(Subjects, OfABundleHaveItsWeightsAndItsText) {
  const test::TemporaryDirectory directory;
  const auto model = model::Directory::open(write_model(directory / "letters"));
  const fs::path bundle = directory / "letters.residual";
  model::write_bundle(bundle, model.description(), model::stored_tensors(model).list, model);
  std::ofstream(directory / "en") << "a b c\n";
  const auto batch_of = [&](const fs::path& path) {
    const SubjectOptions options{
        .subjects = {path}, .text = directory / "en", .translation = directory / "en"};
    return make_batch(open_subjects(options)[0], options).batch;
  };
  EXPECT_TRUE(batch_of(bundle).source.equal(batch_of(directory / "letters").source));
  const auto subjects = open_subjects({.subjects = {bundle}});
  nn::Parameters loaded(subjects[0].config.model), expected(subjects[0].config.model);
  subjects[0].load(loaded);
  expected.initialise(5);
  EXPECT_TRUE(loaded.values().equal(expected.values()));
}

TEST(Subjects, OfInt8AreRefusedUnlessAtInitialisation) {
  const test::TemporaryDirectory directory;
  const auto model = model::Directory::open(write_model(directory / "letters"));
  const fs::path path = directory / "int8";
  model::write_directory(path, model.description(), model::int8_tensors(model).list, model);
  EXPECT_THAT([&] { open_subjects({.subjects = {path}}); },
              ThrowsMessage<Error>(HasSubstr("int8: is int8; probe the model it was made from")));
  EXPECT_TRUE(open_subjects({.subjects = {path}, .at_initialisation = true})[0].initial);
}

double eta_of(const Subject& subject) {
  return schemes::options_of<schemes::ResiDual>(subject.config.model.residual).eta;
}

TEST(Subjects, OfTheConfiguredSchemeKeepItsOptions) {
  const test::TemporaryDirectory directory;
  std::ofstream(directory / "dual.toml")
      << "model.residual = { name = \"resi-dual\", eta = 0.05 }\n";
  const auto subjects =
      open_subjects({.subjects = {directory / "dual.toml"}, .schemes = {"resi-dual", "pre-ln"}});
  EXPECT_EQ(eta_of(subjects[0]), 0.05);
  EXPECT_EQ(subjects[1].config.model.residual.name, "pre-ln");
}

TEST(Subjects, AreSetAfterTheirSchemeIsChosen) {
  const SubjectOptions dual{.schemes = {"resi-dual"}, .settings = {"model.residual.eta=0.25"}};
  EXPECT_EQ(eta_of(open_subjects(dual)[0]), 0.25);
  SubjectOptions options = dual;
  options.schemes.push_back("post-ln");
  EXPECT_THAT([&] { open_subjects(options); },
              ThrowsMessage<Error>(HasSubstr("unknown key \"model.residual.eta\"")));
  options.settings = {"model.residual.name=pre-ln"};
  EXPECT_THAT([&] { open_subjects(options); }, ThrowsMessage<Error>(HasSubstr("NAME:VARIANT")));
}

TEST(Subjects, ThatStartFromAModelHaveItsWeightsAtInitialisation) {
  const test::TemporaryDirectory directory;
  const fs::path model = write_model(directory / "letters");
  run::TrainConfig config;
  config.model = model::Directory::open(model).description().model;
  config.train.start_from = model.string();
  fs::create_directories(directory / "run/checkpoints");
  replace_file(directory / "run" / run::kRunConfig, to_toml(run::resolve(config)));
  SubjectOptions options{.subjects = {directory / "run"}, .at_initialisation = true};
  const auto subject = open_subjects(options).at(0);
  EXPECT_THAT(subject.origin, HasSubstr("at initialisation, from"));
  EXPECT_FALSE(subject.initial);
  nn::Parameters loaded(subject.config.model), expected(subject.config.model);
  subject.load(loaded);
  expected.initialise(5);
  EXPECT_TRUE(loaded.values().equal(expected.values()));

  options.layers = 5;
  EXPECT_THAT([&] { open_subjects(options); },
              ThrowsMessage<Error>(HasSubstr("model.decoder_layers is 3 there, 5 here")));
  options.settings = {"train.start_from="};
  EXPECT_TRUE(open_subjects(options).at(0).initial);
}

TEST(Subjects, ThatAreTrainedKeepTheirShape) {
  const test::TemporaryDirectory directory;
  const fs::path path = write_model(directory / "letters");
  EXPECT_THAT([&] { open_subjects({.subjects = {path}, .layers = 3}); },
              ThrowsMessage<Error>(HasSubstr("--at-initialisation")));
  const auto initial = open_subjects({.subjects = {path}, .layers = 3, .at_initialisation = true});
  EXPECT_EQ(initial[0].config.model.encoder_layers, 3);
}

TEST(Subjects, ThatAreTrainedAreProbedOnCorporaOfTheirOwnSymbols) {
  const test::ReverseTask task;
  const test::TemporaryDirectory directory;
  const auto manifest = data::load_manifest(task.prepared());
  std::string vocabulary = read_file(task.prepared() / manifest.vocabularies[0].file);
  const fs::path own = write_model(directory / "own", vocabulary);
  vocabulary[0] = 'z';
  const fs::path other = write_model(directory / "other", vocabulary);
  EXPECT_EQ(open_subjects({.subjects = {own}, .data = task.prepared()}).size(), 1u);
  EXPECT_THAT([&] { open_subjects({.subjects = {other}, .data = task.prepared()}); },
              ThrowsMessage<Error>(HasSubstr("other: its vocabulary.txt is not the")));
}

TEST(Subjects, OfTheSameNameAreRefused) {
  EXPECT_THAT(
      [] {
        open_subjects({.schemes = {"pre-ln", "pre-ln"}});
      },
      ThrowsMessage<Error>(HasSubstr("two models are called \"pre-ln\"")));
}

TEST(Subjects, OfAnUnknownSchemeGetASuggestion) {
  EXPECT_THAT([] { open_subjects({.schemes = {"pre-nl"}}); },
              ThrowsMessage<Error>(HasSubstr("pre-ln")));
}

TEST(Batches, OfTextAreSegmentedAsTheModelDoes) {
  const test::TemporaryDirectory directory;
  std::ofstream(directory / "en") << "a b c\nd\n";
  std::ofstream(directory / "de") << "s\nb zebra\n";
  const SubjectOptions options{.subjects = {write_model(directory / "letters")},
                               .text = directory / "en",
                               .translation = directory / "de"};
  const auto made = make_batch(open_subjects(options)[0], options);
  const auto ids = [](const Tensor& t) {
    return std::vector<int64_t>(t.data_ptr<int64_t>(), t.data_ptr<int64_t>() + t.numel());
  };
  EXPECT_EQ(ids(made.batch.source), (std::vector<int64_t>{4, 5, 6, 2, 7, 2}));
  EXPECT_EQ(ids(made.batch.target), (std::vector<int64_t>{22, 2, 5, 3, 2}));
  EXPECT_EQ(made.batch.sources.offsets, (std::vector<int64_t>{0, 4, 6}));
}

TEST(Batches, OfTextNeedTheSymbolsOfTheModel) {
  const test::TemporaryDirectory directory;
  std::ofstream(directory / "en") << "a z\n";
  const SubjectOptions options{.subjects = {write_model(directory / "letters")},
                               .text = directory / "en",
                               .translation = directory / "en"};
  replace_file(directory / "letters/vocabulary.txt", letters() + "z 1\n");
  model::write_checksums(directory / "letters");
  EXPECT_THAT([&] { make_batch(open_subjects(options)[0], options); },
              ThrowsMessage<Error>(HasSubstr("has 24 symbols, the model has 23")));
}

TEST(Batches, OfTextNeedTheTranslation) {
  const test::TemporaryDirectory directory;
  std::ofstream(directory / "en") << "a b c\n";
  const SubjectOptions options{.subjects = {write_model(directory / "letters")},
                               .text = directory / "en"};
  EXPECT_THAT([&] { make_batch(open_subjects(options)[0], options); },
              ThrowsMessage<Error>(HasSubstr("--translation")));
}

TEST(Batches, OfTextThatIsTooLongSayThePositions) {
  const test::TemporaryDirectory directory;
  std::string line = "a";
  for (int i = 0; i < 64; ++i) line += " a";
  std::ofstream(directory / "en") << line << "\n";
  const SubjectOptions options{.subjects = {write_model(directory / "letters")},
                               .text = directory / "en",
                               .translation = directory / "en"};
  EXPECT_THAT([&] { make_batch(open_subjects(options)[0], options); },
              ThrowsMessage<Error>(HasSubstr("has no sentence of at most 64 tokens")));
}

// What a worker of a training run passes at a time does not matter.
TEST(Batches, OfACorpusHaveTheTokensThatAreAskedFor) {
  const test::ReverseTask task;
  const SubjectOptions options{
      .settings = {"batch.pass_tokens=16"}, .data = task.prepared(), .tokens = 1000};
  const auto batch = make_batch(open_subjects(options)[0], options).batch;
  EXPECT_GT(batch.source.size(0), 100);  // all that there is
}

TEST(Batches, AtRandomKeepWithinTheTokensAndTheVocabulary) {
  const SubjectOptions options{
      .settings = {"model.source_vocabulary=9", "model.target_vocabulary=9"}, .tokens = 100};
  const auto batch = make_batch(open_subjects(options)[0], options).batch;
  EXPECT_LE(batch.source.size(0), 100);
  EXPECT_GT(batch.source.size(0), 60);
  EXPECT_LT(batch.source.max().item<int64_t>(), 9);
  EXPECT_GE(batch.source.min().item<int64_t>(), 2);
}

TEST(Batches, AreNamedOnceOrWithEachModelIfTheyDiffer) {
  const test::TemporaryDirectory directory;
  const std::string small =
      "[model]\nwidth = 8\ninner = 8\nheads = 2\nencoder_layers = 1\ndecoder_layers = 1\n";
  std::ofstream(directory / "one.toml") << small;
  std::ofstream(directory / "two.toml") << small << "max_positions = 8\n";
  const SubjectOptions options{
      .subjects = {directory / "one.toml", directory / "two.toml"},
      .settings = {"model.source_vocabulary=9", "model.target_vocabulary=9"},
      .tokens = 64};
  const report::Report different = probe_models(options);
  ASSERT_EQ(different.facts.size(), 2u);
  EXPECT_THAT(different.facts[0].second, HasSubstr("; probed on "));
  EXPECT_THAT(different.facts[1].second, HasSubstr("; probed on 8 sentences, 64 tokens"));

  SubjectOptions alike = options;
  alike.settings.push_back("model.max_positions=8");
  const report::Report same = probe_models(alike);
  ASSERT_EQ(same.facts.size(), 3u);
  EXPECT_EQ(same.facts[2].first, "probed on");
}

}  // namespace
}  // namespace residual::probe
