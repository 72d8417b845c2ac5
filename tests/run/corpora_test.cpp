#include "run/corpora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "run/verify.h"
#include "support/error_of.h"
#include "support/temporary.h"
#include "support/tiny_run.h"

namespace residual::run {
namespace {

using test::error_of;
using testing::HasSubstr;

TEST(Corpora, NeedTheVocabularyTheyWereMadeWith) {
  const test::ReverseTask task(20);
  replace_file(task.prepared() / "vocabulary.txt", "z 1\n");
  EXPECT_THAT(error_of([&] { Corpora{task.config()}; }),
              HasSubstr("made with a source vocabulary"));
}

// Sizes of tables come from prepared.toml: ids beyond them would be written past their ends.
TEST(Corpora, NeedTheNumberOfSymbolsThatTheManifestSays) {
  const test::ReverseTask task(20);
  data::Manifest manifest = data::load_manifest(task.prepared());
  EXPECT_THAT(verify(task.prepared()).problems, testing::IsEmpty());
  manifest.vocabularies[0].symbols = 6;
  replace_file(task.prepared() / "prepared.toml", to_toml(manifest));
  EXPECT_THAT(error_of([&] { Corpora{task.config()}; }),
              HasSubstr("symbols, prepared.toml says 6"));
  EXPECT_THROW(data::verify(manifest, task.prepared()), Error);
  // The vocabulary and both corpora.
  EXPECT_THAT(verify(task.prepared()).problems, testing::SizeIs(3));
}

// A model without them could not read or write text, and would say so only when it is used.
TEST(Corpora, NeedTheTextFilesThatWerePrepared) {
  const test::ReverseTask task(20);
  data::Manifest manifest = data::load_manifest(task.prepared());
  manifest.recipe.subwords = {.kind = data::SubwordKind::bpe, .merges = 5};
  data::prepare(manifest.recipe, {.output = task.path("pieces")});
  TrainConfig config = task.config();
  config.data.prepared = task.path("pieces").string();
  const auto error_with = [&](const std::string& file, const std::optional<std::string>& content) {
    const fs::path path = task.path("pieces") / file;
    const std::string before = read_file(path);
    content ? replace_file(path, *content) : static_cast<void>(fs::remove(path));
    std::string error = error_of([&] { Corpora{config}; });
    replace_file(path, before);
    return error;
  };
  const std::string settings = read_file(task.path("pieces") / "segmentation.de.toml");
  const std::string codes = text::Segmenter::load(task.path("pieces"), "de").options().model;
  EXPECT_EQ(error_of([&] { Corpora{config}; }), "");
  for (const auto& file : {codes, std::string("segmentation.de.toml")}) {
    EXPECT_THAT(error_with(file, {}), HasSubstr(file + ": is missing")) << file;
  }
  const std::string edited = settings + "# edited\n";
  EXPECT_THAT(error_with("segmentation.de.toml", edited), HasSubstr("was changed or damaged"));
  EXPECT_THAT(error_with(codes, ""), HasSubstr(codes + ": 0 bytes with checksum"));

  // As a version that did not note its files left it.
  manifest = data::load_manifest(task.path("pieces"));
  manifest.files.clear();
  replace_file(task.path("pieces") / "prepared.toml", to_toml(manifest));
  EXPECT_EQ(error_with("segmentation.de.toml", edited), "");
  EXPECT_THAT(error_with(codes, {}), HasSubstr(codes + ": is missing"));
}

// Of the same size, as padding to a multiple of 8 makes them more often than not.
TEST(Corpora, WithTwoVocabulariesCannotShareAllEmbeddings) {
  const test::ReverseTask task(20);
  data::Recipe recipe = data::load_manifest(task.prepared()).recipe;
  recipe.vocabulary.joined = false;
  data::prepare(recipe, {.output = task.path("separate")});
  TrainConfig config = task.config();
  config.data.prepared = task.path("separate").string();
  EXPECT_THAT(error_of([&] { Corpora(config).with_vocabularies(config); }),
              HasSubstr("\"all\" needs one vocabulary"));
  config.model.sharing = model::Sharing::target;
  EXPECT_EQ(Corpora(config).with_vocabularies(config).model.sharing, model::Sharing::target);
}

}  // namespace
}  // namespace residual::run
