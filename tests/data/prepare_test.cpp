#include "data/prepare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/random.h"
#include "data/corpus.h"
#include "support/paths.h"
#include "support/temporary.h"
#include "text/vocabulary.h"

namespace residual::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kData = test::fixtures() + "/prepare";

// A recipe of the project, made small enough for the test data.
Recipe published(const std::string& name) {
  Recipe recipe;
  read_config(fmt::format("{}/recipes/{}.toml", test::source_tree(), name), recipe);
  recipe.data = kData;
  recipe.subwords.merges = 200;
  recipe.split.dev_every = 10;
  recipe.clean.max_words = name == "iwslt14" ? 12 : 25;
  return recipe;
}

std::map<std::string, std::string> contents(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    files[entry.path().filename().string()] = read_file(entry.path());
  }
  return files;
}

class Prepare : public testing::Test {
 protected:
  Prepare() {
    Progress::set_quiet(true);
    log::set_level(log::Level::error);
    recipe_.data = directory_.path().string();
    recipe_.pairs = {"en-de"};
    recipe_.dev = recipe_.test = {};
    recipe_.subwords.merges = 5;
  }
  ~Prepare() override { set_thread_count(available_cores()); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((directory_ / name).parent_path());
    replace_file(directory_ / name, text);
  }
  void write_pairs(const std::string& name, const std::string& english, const std::string& german) {
    write(name + ".en", english);
    write(name + ".de", german);
  }
  Manifest run() { return prepare(recipe_, {.output = output_, .keep_text = true}); }
  std::string error() {
    try {
      run();
    } catch (const Error& error) {
      EXPECT_FALSE(fs::exists(output_));
      EXPECT_EQ(std::distance(fs::directory_iterator(output_.parent_path()), {}), 0)
          << "something is left behind";
      return error.what();
    }
    return "no error";
  }
  std::string text(const std::string& name) const { return read_file(output_ / name); }
  static int64_t dropped(const Manifest& manifest, const std::string& reason) {
    const PreparedCleaning& cleaning = manifest.cleaning[0];
    for (size_t i = 0; i < cleaning.reasons.size(); ++i) {
      if (cleaning.reasons[i] == reason) return cleaning.dropped[i];
    }
    return -1;
  }

  test::TemporaryDirectory directory_, outputs_;
  fs::path output_ = outputs_ / "prepared";
  Recipe recipe_;
};

class PublishedRecipe : public Prepare, public testing::WithParamInterface<const char*> {};

// The expectation was made by Moses' scripts and subword-nmt in the order of fairseq's scripts.
TEST_P(PublishedRecipe, GivesTheTextTheCodesAndTheDictionaryOfTheReferenceTools) {
  recipe_ = published(std::string(GetParam()) + "14");
  run();
  for (const auto& [name, expected] : contents(kData + "/" + GetParam())) {
    EXPECT_EQ(text(name), expected) << name;
  }
}

TEST_P(PublishedRecipe, DoesNotDependOnTheNumberOfThreads) {
  recipe_ = published(std::string(GetParam()) + "14");
  std::map<std::string, std::string> first;
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    output_ = outputs_ / fmt::format("{}", threads);
    run();
    if (first.empty()) first = contents(output_);
    EXPECT_TRUE(contents(output_) == first) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Prepare, PublishedRecipe, testing::Values("iwslt", "wmt"));

TEST_F(Prepare, TheCorpusHoldsTheSegmentedTextAndItsLineNumbers) {
  recipe_ = published("iwslt14");
  const Manifest manifest = run();
  const auto vocabulary = text::Vocabulary::load(output_ / "vocabulary.txt");
  for (const auto& entry : manifest.corpora) {
    const Corpus corpus = Corpus::open(output_ / entry.file);
    corpus.verify();
    std::string german, english;
    for (int64_t i = 0; i < corpus.size(); ++i) {
      std::vector<int32_t> source, target;
      corpus.append(i, source, target);
      german += vocabulary.decode(source) + "\n";
      english += vocabulary.decode(target) + "\n";
    }
    // Symbols that training never saw are lost, as they must be.
    if (entry.source_unknown + entry.target_unknown == 0) {
      EXPECT_EQ(german, text(entry.split + ".de"));
      EXPECT_EQ(english, text(entry.split + ".en"));
    }
    EXPECT_EQ(corpus.size(), entry.pairs);
    EXPECT_EQ(corpus.footer().source_tokens, static_cast<uint64_t>(entry.source_tokens));
  }
}

TEST_F(Prepare, RawDevAndTestLinesAreKeptForScoring) {
  write_pairs("train", "A 1\nB 2\nC  3\nD 4\nE 5\n\nF 6\n", "a 1\nb 2\nc 3\nd\t4\ne 5\nx\nf 6\n");
  write_pairs("test", "T “x”\n\n", "t\nu\n");
  recipe_.split.dev_every = 2;
  recipe_.test = {"test"};
  const Manifest manifest = run();
  EXPECT_EQ(text("dev.en.txt"), "B 2\nD 4\nF 6\n");  // the empty pair is not counted
  EXPECT_EQ(text("dev.de.txt"), "b 2\nd\t4\nf 6\n");
  EXPECT_EQ(text("test.en.txt"), "T “x”\n\n");
  const Corpus dev = Corpus::open(output_ / "dev.corpus");
  EXPECT_EQ(dev.line(2), 7u);
  EXPECT_EQ(manifest.corpora[1].target_text, "dev.de.txt");
}

TEST_F(Prepare, DuplicatesIdenticalSidesAndOverlapAreCountedAndDropped) {
  write_pairs("train", "a b\na b\na b\nsame\nin test\nin test\n",
              "c d\nc d\ne f\nsame\nim Test\nx y\n");
  write_pairs("test", "in test\n", "im Test\n");
  recipe_.test = {"test"};
  recipe_.clean.drop_identical = true;
  Manifest manifest = run();
  EXPECT_EQ(dropped(manifest, "duplicate"), 1);
  EXPECT_EQ(dropped(manifest, "identical"), 1);
  EXPECT_EQ(dropped(manifest, "in dev or test"), 1);
  EXPECT_EQ(manifest.cleaning[0].train, 3);

  fs::remove_all(output_);
  recipe_.clean.duplicates = Duplicates::sources;
  recipe_.clean.overlap = Overlap::sentences;
  manifest = run();
  EXPECT_EQ(dropped(manifest, "duplicate"), 2);
  EXPECT_EQ(dropped(manifest, "in dev or test"), 2);
  EXPECT_EQ(manifest.cleaning[0].train, 1);
}

TEST_F(Prepare, TabSeparatedTextAndSeveralFilesAreReadOneAfterAnother) {
  write("one.tsv", "Hallo\tx\tHello\nWelt\tx\tWorld\n");
  write_pairs("two", "Moon\n", "Mond");
  recipe_.train = {"one.tsv", "two"};
  recipe_.tsv_columns = {3, 1};
  recipe_.subwords.kind = SubwordKind::none;
  run();
  EXPECT_EQ(text("train.en"), "Hello\nWorld\nMoon\n");
  EXPECT_EQ(text("train.de"), "Hallo\nWelt\nMond\n");
}

TEST_F(Prepare, VocabulariesCanBeSeparate) {
  write_pairs("train", "a b\n", "c c\n");
  recipe_.subwords.kind = SubwordKind::none;
  recipe_.vocabulary.joined = false;
  recipe_.vocabulary.multiple = 1;
  run();
  EXPECT_EQ(text("vocabulary.en.txt"), "a 1\nb 1\n");
  EXPECT_EQ(text("vocabulary.de.txt"), "c 2\n");
}

TEST_F(Prepare, AnotherCorpusMayHaveThePiecesAndIdsOfAFirst) {
  for (const bool joined : {true, false}) {
    recipe_.vocabulary.joined = recipe_.subwords.joint = joined;
    recipe_.text.lowercase = joined;
    recipe_.like.clear();
    recipe_.train = {"train"};
    write_pairs("train", "the old house\nThe house\n", "das alte Haus\nDas Haus\n");
    const fs::path first = directory_ / fmt::format("first-{}", joined);
    prepare(recipe_, {.output = first});
    // Other text, whose own merges, counts and case would be others.
    write_pairs("more", "The zoo\nthe old zoo\n", "Der Zoo\nder alte Zoo\n");
    recipe_.train = {"more"};
    recipe_.like = first.string();
    recipe_.text.lowercase = !joined;
    const fs::path second = directory_ / fmt::format("second-{}", joined);
    const Manifest manifest = prepare(recipe_, {.output = second, .keep_text = true});
    EXPECT_EQ(manifest.recipe.text.lowercase, joined);
    for (const auto& [name, bytes] : contents(first)) {
      const bool is_text_tool = name.starts_with("vocabulary") || name.starts_with("bpe") ||
                                name.starts_with("segmentation");
      if (is_text_tool) {
        EXPECT_EQ(read_file(second / name), bytes) << name;
      }
    }
    const Corpus before = Corpus::open(first / "train.corpus");
    Corpus::open(second / "train.corpus")
        .require_vocabularies(before.footer().source_vocabulary_hash,
                              before.footer().target_vocabulary_hash);
    EXPECT_GT(manifest.corpora[0].source_unknown, 0);  // z
  }
  recipe_.pairs = {"en-fr"};
  write("more.fr", "le zoo\nle vieux zoo\n");
  EXPECT_THAT(error(), HasSubstr("has no fr"));
}

TEST_F(Prepare, AVocabularyMultipleBeyond32BitsIsRefused) {
  write("recipe.toml", "[vocabulary]\nmultiple = 4294967297\n");
  EXPECT_THROW(read_config(directory_ / "recipe.toml", recipe_), Error);
}

TEST_F(Prepare, ManyPairsShareOneModelAndVocabularyWithTags) {
  for (const std::string pair : {"de-en", "en-fr"}) {
    std::string source, target;
    for (int i = 0; i < 200; ++i) {
      source += fmt::format("sentence {} of {} things\n", i * 7919 % 200, i);
      target += fmt::format("phrase {} von {} choses\n", i * 104729 % 200, i);
    }
    const auto dash = pair.find('-');
    for (const std::string split : {"train", "dev"}) {
      if (pair == "en-fr" && split == "dev") continue;  // a pair without dev is still trained on
      write(pair + "/" + split + "." + pair.substr(0, dash), source);
      write(pair + "/" + split + "." + pair.substr(dash + 1), target);
    }
  }
  read_config(test::source_tree() + "/recipes/opus100.toml", recipe_);
  recipe_.data = directory_.path().string();
  recipe_.test = {};
  recipe_.subwords.vocabulary_size = 60;
  const Manifest manifest = run();

  std::vector<std::string> corpora;
  for (const auto& corpus : manifest.corpora) {
    corpora.push_back(corpus.file + " " + corpus.source_tag);
    EXPECT_EQ(Corpus::open(output_ / corpus.file).source_language(), corpus.source);
  }
  EXPECT_THAT(corpora, ElementsAre("train.de-en.corpus <2en>", "train.en-de.corpus <2de>",
                                   "dev.de-en.corpus <2en>", "dev.en-de.corpus <2de>",
                                   "train.en-fr.corpus <2fr>", "train.fr-en.corpus <2en>"));
  const auto vocabulary = text::Vocabulary::load(output_ / "vocabulary.txt");
  EXPECT_EQ(vocabulary.count(vocabulary.id("<2en>")), 400u);
  EXPECT_EQ(vocabulary.count(vocabulary.id("<2de>")), 200u);
  const Corpus there = Corpus::open(output_ / "train.de-en.corpus");
  const Corpus back = Corpus::open(output_ / "train.en-de.corpus");
  EXPECT_EQ(there.lengths(3).source, back.lengths(3).target);
  EXPECT_EQ(there.source(3)[0], back.target(3)[0]);
  EXPECT_TRUE(fs::exists(output_ / "sentencepiece.model"));
}

TEST_F(Prepare, TheManifestReadsBackAndFindsAChangedFile) {
  write_pairs("train", "a b\n", "c d\n");
  const Manifest written = run();
  const Manifest read = load_manifest(output_);
  EXPECT_EQ(to_toml(read), to_toml(written));
  verify(read, output_);
  std::string codes = text("bpe.codes");
  codes[0] ^= 1;
  replace_file(output_ / "bpe.codes", codes);
  EXPECT_THROW(verify(read, output_), Error);
  fs::remove(output_ / "prepared.toml");
  EXPECT_THROW(load_manifest(output_), Error);
}

// A directory may come from anyone: none of its names may lead out of it.
TEST_F(Prepare, TheManifestNamesOnlyFilesBesideIt) {
  write_pairs("train", "a b c\nb c d\n", "x y z\ny z x\n");
  const Manifest good = run();
  const auto refused = [&](const std::function<void(Manifest&)>& change) {
    Manifest manifest = good;
    change(manifest);
    replace_file(output_ / "prepared.toml", to_toml(manifest));
    EXPECT_THAT(
        [&] { load_manifest(output_); },
        testing::ThrowsMessage<Error>(HasSubstr("the name of a file in the same directory")));
  };
  refused([](Manifest& m) { m.corpora[0].file = "../train.corpus"; });
  refused([](Manifest& m) { m.corpora[0].source_text = "/etc/passwd"; });
  refused([](Manifest& m) { m.corpora[0].target_text = ".."; });
  refused([](Manifest& m) { m.vocabularies[0].file = "/dev/zero"; });
  refused([](Manifest& m) { m.files[0].file = ""; });
}

TEST_F(Prepare, FaultsAreNamedBeforeAnythingIsWritten) {
  write_pairs("train", "a\nb\n", "a\n");
  EXPECT_THAT(error(), HasSubstr("train.en has 2 lines but "));
  write_pairs("train", "a\nb\n", "a\nb\xff\n");
  EXPECT_THAT(error(), HasSubstr("train.de:2: byte 2"));
  write_pairs("train", "", "");
  EXPECT_THAT(error(), HasSubstr("train.en: has no lines"));
  write_pairs("train", "a\n", "b\n");
  write_pairs("more", "", "");
  recipe_.train = {"train", "more"};
  EXPECT_THAT(error(), HasSubstr("more.en: has no lines"));
  recipe_.train = {"train"};
  recipe_.subwords.sentences = 100;
  EXPECT_THAT(error(), HasSubstr("subwords.sentences: is 100"));
  recipe_.subwords.sentences = 0;
  write_pairs("train", "\n", "\n");
  EXPECT_THAT(error(), HasSubstr("cleaning left no pairs to train on"));
  write_pairs("train", "a b\n", "a c\n");
  recipe_.clean.stage = CleanStage::pieces;
  recipe_.clean.min_words = 200;
  recipe_.clean.max_words = 300;
  EXPECT_THAT(error(), HasSubstr("cleaning left no pairs to train on"));
  recipe_.train = {"tr\xff"};
  write_pairs("tr\xff", "a b\n", "a c\n");
  EXPECT_THAT(error(), HasSubstr("is not UTF-8"));
  recipe_.train = {"missing"};
  EXPECT_THAT(error(), HasSubstr("missing.en: does not exist"));
  recipe_.pairs = {"english"};
  EXPECT_THAT(error(), HasSubstr("\"english\" is not a pair of languages"));
  recipe_.pairs = {"en-de", "de-en"};
  EXPECT_THAT(error(), HasSubstr("\"de-en\" is listed twice"));
  recipe_.pairs = {"../x-de"};
  EXPECT_THAT(error(), HasSubstr("is not a pair of languages"));
}

TEST(VoidKeys, AreThoseThatOthersTurnOff) {
  EXPECT_TRUE(void_keys({}).empty());
  Recipe recipe;
  recipe.subwords.kind = SubwordKind::sentencepiece_bpe;
  recipe.subwords.merges = 32'000;
  recipe.subwords.vocabulary_size = 32'000;
  recipe.clean.stage = CleanStage::none;
  recipe.clean.max_words = 3;
  EXPECT_THAT(void_keys(recipe),
              testing::ElementsAre("subwords.merges: has no effect, since subwords.kind is not bpe",
                                   "clean.max_words: has no effect, since clean.stage is none"));
}

TEST_F(Prepare, AnOutputThatExistsOrCannotBeIsNamed) {
  write_pairs("train", "a b\n", "c d\n");
  run();
  EXPECT_THROW(run(), Error);
  write_pairs("train", "x y\n", "z z\n");
  prepare(recipe_, {.output = output_, .force = true, .keep_text = true});
  EXPECT_THAT(text("train.en"), HasSubstr("x"));
  recipe_.data = output_.string();
  EXPECT_THROW(prepare(recipe_, {.output = output_, .force = true}), Error);
  EXPECT_TRUE(fs::exists(output_ / "train.en"));
  output_ = output_ / "bpe.codes" / "inside-a-file";
  EXPECT_THROW(run(), Error);
}

TEST_F(Prepare, InvalidBytesCanBeReplaced) {
  write_pairs("train", "a \xff\n", "b\n");
  recipe_.subwords.kind = SubwordKind::none;
  prepare(recipe_, {.output = output_, .keep_text = true, .invalid = text::Invalid::replace});
  EXPECT_EQ(text("train.en"), "a \xef\xbf\xbd\n");
}

TEST_F(Prepare, KilledAtAnyMomentItLeavesNothingThatLooksFinishedAndRunsAgain) {
  const auto start = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl((test::programs() + "/residual").c_str(), "residual", "--quiet", "prepare",
              (test::source_tree() + "/recipes/iwslt14.toml").c_str(), "--data", kData.c_str(),
              "--train", "train", "train", "train", "train", "train", "train", "train", "train",
              "--set", "subwords.merges=200", "--output", output_.c_str(), nullptr);
      ::_exit(127);
    }
    return child;
  };
  const auto wait = [](pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  };
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(wait(start()), 0);
  std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
  const auto expected = contents(output_);

  int killed = 0;
  for (uint64_t i = 0; killed < 8; ++i) {
    ASSERT_LT(i, 100u) << killed << " killed; a run takes " << whole.count() << " s";
    fs::remove_all(output_);
    const pid_t child = start();
    const auto moment = whole * Random(1).uniform(i);
    std::this_thread::sleep_for(moment);
    ::kill(child, SIGKILL);
    if (wait(child) == 0) {
      whole = moment;  // The first run was a slow one: this takes less.
    } else {
      ++killed;
    }
    // Either nothing, or all of it: the kill may come between the last rename and the exit.
    if (fs::exists(output_)) {
      EXPECT_TRUE(contents(output_) == expected);
    }
  }
  fs::remove_all(output_);
  ASSERT_EQ(wait(start()), 0);
  EXPECT_TRUE(contents(output_) == expected);
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(outputs_.path())) {
    left.push_back(entry.path().filename());
  }
  EXPECT_THAT(left, testing::SizeIs(1)) << "what the killed ones left is gone";
}

}  // namespace
}  // namespace residual::data
