// Running text for language models.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "data/corpus.h"
#include "data/prepare.h"
#include "support/temporary.h"
#include "text/documents.h"
#include "text/vocabulary.h"

namespace residual::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PrepareText : public testing::Test {
 protected:
  PrepareText() {
    Progress::set_quiet(true);
    log::set_level(log::Level::error);
    recipe_.data = directory_.path().string();
    recipe_.language = "en";
    recipe_.train = {"text"};
    recipe_.dev = recipe_.test = {};
    recipe_.subwords.kind = SubwordKind::none;
    recipe_.vocabulary.multiple = 1;
    recipe_.windows.tokens = 4;
  }
  ~PrepareText() override { set_thread_count(available_cores()); }

  void write(const std::string& name, const std::string& text) {
    replace_file(directory_ / name, text);
  }
  Manifest run() { return prepare(recipe_, {.output = output_, .force = true}); }
  // The symbols of every window of a split.
  std::vector<std::string> windows(const std::string& split) const {
    const auto vocabulary = text::Vocabulary::load(output_ / "vocabulary.txt");
    const Corpus corpus = Corpus::open(output_ / (split + ".corpus"));
    corpus.verify();
    std::vector<std::string> all;
    for (int64_t i = 0; i < corpus.size(); ++i) {
      EXPECT_EQ(corpus.source(i).size(), 1);
      EXPECT_EQ(corpus.source(i)[0], text::Vocabulary::kEos);
      std::string& window = all.emplace_back();
      for (int64_t t = 0; t < corpus.target(i).size(); ++t) {
        window += (t > 0 ? " " : "") + std::string(vocabulary.symbol(corpus.target(i)[t]));
      }
    }
    return all;
  }

  test::TemporaryDirectory directory_, outputs_;
  fs::path output_ = outputs_ / "prepared";
  Recipe recipe_;
};

TEST_F(PrepareText, WindowsRunOnAcrossLinesAndDocuments) {
  write("text", "a b c\n  d e \n\n\n \t\nf g\n\nh\n");
  const Manifest manifest = run();
  EXPECT_THAT(windows("train"), ElementsAre("a b c d", "e </s> f g", "</s> h </s>"));
  ASSERT_EQ(manifest.corpora.size(), 1u);
  EXPECT_EQ(manifest.corpora[0].pairs, 3);
  EXPECT_EQ(manifest.corpora[0].target_tokens, 11);
  EXPECT_EQ(manifest.cleaning[0].lines, 3);
  EXPECT_NO_THROW(verify(load_manifest(output_), output_));
}

TEST_F(PrepareText, SplitsDocumentsOffForDevAndTestAndKeepsTheirText) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "w" + std::to_string(i) + "\nx\n\n";
  write("text", text);
  recipe_.split = {.dev_every = 10, .test_every = 7};
  const Manifest manifest = run();
  EXPECT_EQ(read_file(output_ / "dev.en.txt"), "w9 x\n\nw19 x\n");
  EXPECT_EQ(read_file(output_ / "test.en.txt"), "w5 x\n\nw12 x\n");
  EXPECT_EQ(manifest.cleaning[0].train, 16);
  EXPECT_EQ(manifest.cleaning[0].dev, 2);
  EXPECT_EQ(manifest.cleaning[0].test, 2);
  EXPECT_THAT(read_texts(manifest, output_ / "dev.en.txt"), ElementsAre("w9 x", "w19 x"));
}

TEST_F(PrepareText, TakesLinesForDocumentsIfTheyAre) {
  write("text", "a b\nc\n\nd\n");
  recipe_.windows.lines = true;
  run();
  EXPECT_THAT(windows("train"), ElementsAre("a b </s> c", "</s> d </s>"));
}

TEST_F(PrepareText, DropsDocumentsThatAreRepeatedOrHeldOut) {
  write("text", "a b\n\nc d\n\na\nb\n\ne f\n");
  write("held", "e f\n");
  recipe_.test = {"held"};
  const Manifest manifest = run();
  EXPECT_THAT(manifest.cleaning[0].dropped, ElementsAre(1, 1));
  EXPECT_THAT(windows("train"), ElementsAre("a b </s> c", "d </s>"));
  recipe_.clean.duplicates = Duplicates::keep;
  recipe_.clean.overlap = Overlap::keep;
  EXPECT_EQ(run().cleaning[0].train, 4);
}

// Lines of moderate length, between which nothing may be lost.
TEST_F(PrepareText, KeepsLongDocumentsWhole) {
  std::string text, line;
  for (int i = 0; i < 5000; ++i) text += "w" + std::to_string(i % 97) + " ";
  write("text", text + std::string(5000, 'y') + " end\n");
  recipe_.windows.tokens = 6000;
  run();
  ASSERT_EQ(windows("train").size(), 1u);
  EXPECT_EQ(windows("train")[0], text + std::string(5000, 'y') + " end </s>");
}

TEST_F(PrepareText, GivesTheSameBytesWithAnyNumberOfThreads) {
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += "The words of document " + std::to_string(i * 7919 % 1000) + " are here.\n\n";
  }
  write("text", text);
  recipe_.subwords = {.kind = SubwordKind::bpe, .merges = 50};
  recipe_.split.dev_every = 10;
  std::vector<std::string> made;
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    run();
    made.push_back(read_file(output_ / "train.corpus") + read_file(output_ / "dev.corpus") +
                   read_file(output_ / "vocabulary.txt"));
  }
  EXPECT_EQ(made[0], made[1]);
}

TEST_F(PrepareText, TakesThePiecesAndIdsOfAnotherCorpus) {
  write("text", "lower newer wider lower\n\nnew low\n");
  recipe_.subwords = {.kind = SubwordKind::bpe, .merges = 5};
  run();
  const std::string vocabulary = read_file(output_ / "vocabulary.txt");
  write("text", "low lower\n");
  recipe_.like = output_.string();
  output_ = outputs_ / "second";
  run();
  EXPECT_EQ(read_file(output_ / "vocabulary.txt"), vocabulary);
}

TEST_F(PrepareText, SaysWhatDoesNotGoWithRunningText) {
  const auto error = [&] {
    try {
      run();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  write("text", "a b\n");
  recipe_.pairs = {"en-de"};
  EXPECT_THAT(error(), HasSubstr("language and pairs exclude each other"));
  recipe_.pairs = {};
  recipe_.vocabulary.joined = false;
  EXPECT_THAT(error(), HasSubstr("one vocabulary"));
  recipe_.vocabulary.joined = true;
  recipe_.language = "";
  recipe_.pairs = {"en-de"};
  recipe_.split.test_every = 5;
  EXPECT_THAT(error(), HasSubstr("split.test_every is for running text"));
}

TEST(Documents, AreWhatEmptyLinesSeparate) {
  const test::TemporaryDirectory directory;
  replace_file(directory / "text", "\n\n a\r\nb\n\n\nc");
  text::DocumentCursor documents(directory / "text");
  auto first = documents.next(), second = documents.next();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->text, "a b");
  EXPECT_EQ(first->line, 3u);
  EXPECT_EQ(second->text, "c");
  EXPECT_EQ(second->line, 7u);
  EXPECT_FALSE(documents.next());
}

}  // namespace
}  // namespace residual::data
