// A model in Hugging Face's files gives what MarianMTModel gives: the words, and every token's
// probability.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "decode/translator.h"
#include "interop/marian.h"
#include "model/parameters.h"
#include "support/paths.h"
#include "support/temporary.h"

namespace residual::decode {
namespace {

const fs::path kData = fs::path(test::fixtures()) / "marian";

// A line: source, target, and the logarithm of each token's probability, </s> included.
struct Expected {
  std::string source, target;
  std::vector<float> log_probabilities;
};

std::vector<Expected> expected(const char* name) {
  std::vector<Expected> all;
  std::ifstream file(kData / name);
  for (std::string source, target, rest; std::getline(file, source, '\t');) {
    std::getline(file, target, '\t');
    std::getline(file, rest);
    std::istringstream numbers(rest);
    all.push_back({source, target, {std::istream_iterator<float>(numbers), {}}});
  }
  return all;
}

void expect_near(const std::vector<float>& got, const Expected& wanted) {
  SCOPED_TRACE(wanted.source);
  ASSERT_EQ(got.size(), wanted.log_probabilities.size());
  for (size_t t = 0; t < got.size(); ++t) {
    EXPECT_NEAR(got[t], wanted.log_probabilities[t], 2e-5) << t;
  }
}

class HuggingFaceDecoding : public testing::Test {
 protected:
  fs::path imported(const char* name, const std::vector<std::string>& tag = {}) const {
    interop::import_marian({.weights = kData / name, .source_tags = tag}, directory_ / name);
    return directory_ / name;
  }
  static void expect_scores(const fs::path& path, const char* name) {
    const Translator translator({path}, TranslatorOptions());
    const auto all = expected(name);
    ASSERT_FALSE(all.empty());
    for (const auto& each : all) {
      const auto scored = translator.score(std::vector{each.source}, std::vector{each.target});
      expect_near(scored[0].log_probabilities, each);
    }
  }

  test::TemporaryDirectory directory_;
};

TEST_F(HuggingFaceDecoding, TranslatesAsTheLibraryDoes) {
  TranslatorOptions options;
  options.search.beam = 1;
  options.search.max_length_factor = 5;
  Translator translator({imported("opus-mt-en-art")}, options);
  const auto all = expected("hf.decoded.txt");
  ASSERT_FALSE(all.empty());
  for (const auto& each : all) {
    const auto made = translator.translate(std::vector{each.source});
    EXPECT_EQ(made[0].outputs[0].text, each.target);
    expect_near(made[0].outputs[0].log_probabilities, each);
  }
}

// Unknown characters on both sides among them.
TEST_F(HuggingFaceDecoding, ScoresAsTheLibraryDoes) {
  expect_scores(imported("opus-mt-en-art"), "hf.scored.txt");
}

TEST_F(HuggingFaceDecoding, ScoresAsTheLibraryDoesBehindATag) {
  expect_scores(imported("opus-mt-en-art", {">>art<<"}), "hf.tagged.txt");
}

// Two vocabularies, three matrices of embeddings, max(0, x), float32.
TEST_F(HuggingFaceDecoding, ScoresAsTheLibraryDoesWithNothingShared) {
  const fs::path path = imported("separate");
  EXPECT_EQ(model::Directory::open(path).description().model.sharing, model::Sharing::none);
  expect_scores(path, "separate.scored.txt");
}

// The search draws from all that the model may say: <unk> too, <s> and <pad> never.
TEST_F(HuggingFaceDecoding, OnlySymbolsOfTheVocabularyAreGiven) {
  TranslatorOptions options;
  options.search.beam = options.search.n_best = 4;
  Translator translator({imported("opus-mt-en-art")}, options);
  for (const auto& each : expected("hf.decoded.txt")) {
    const auto made = translator.translate(std::vector{each.source});
    for (const auto& output : made[0].outputs) {
      EXPECT_THAT(output.tokens, testing::Each(testing::Ge(text::Vocabulary::kEos)));
    }
  }
}

}  // namespace
}  // namespace residual::decode
