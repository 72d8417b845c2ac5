// A model that Marian trained gives what Marian gives: the words, and every token's probability.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "decode/translator.h"
#include "model/marian.h"
#include "support/temporary.h"

namespace residual::decode {
namespace {

const fs::path kData = fs::path(RESIDUAL_TEST_DATA) / "marian";

// A line of decoded.txt: words, a tab, the logarithm of each token's probability, </s> included.
struct Expected {
  std::string text;
  std::vector<float> log_probabilities;
};

std::vector<Expected> expected() {
  std::vector<Expected> all;
  std::ifstream file(kData / "decoded.txt");
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    std::istringstream numbers(line.substr(tab));
    all.push_back({line.substr(0, tab), {std::istream_iterator<float>(numbers), {}}});
  }
  return all;
}

std::vector<std::string> sources() {
  std::vector<std::string> lines;
  std::ifstream file(kData / "source.txt");
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

class Marian : public testing::Test {
 protected:
  Marian() {
    model::import_marian({.weights = kData / "tiny.npz",
                          .source_vocabulary = kData / "vocab.yml",
                          .target_vocabulary = kData / "vocab.yml",
                          .source_language = "en",
                          .target_language = "art"},
                         path());
  }
  fs::path path() const { return directory_ / "model"; }

  static TranslatorOptions greedy() {
    TranslatorOptions options;
    options.search.beam = 1;
    options.search.max_length_factor = 3;  // Marian's
    return options;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Marian, TranslatesAsMarianDoes) {
  Translator translator({path()}, greedy());
  const auto made = translator.translate(sources());
  const auto all = expected();
  ASSERT_EQ(made.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    const auto& output = made[i].outputs[0];
    EXPECT_EQ(output.text, all[i].text);
    ASSERT_EQ(output.log_probabilities.size(), all[i].log_probabilities.size());
    for (size_t t = 0; t < all[i].log_probabilities.size(); ++t) {
      EXPECT_NEAR(output.log_probabilities[t], all[i].log_probabilities[t], 2e-5) << t;
    }
  }
}

TEST_F(Marian, ScoresAsMarianDoes) {
  const Translator translator({path()}, greedy());
  const auto all = expected();
  std::vector<std::string> targets;
  for (const auto& e : all) targets.push_back(e.text);
  const auto scored = translator.score(sources(), targets);
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ(scored[i].log_probabilities.size(), all[i].log_probabilities.size());
    for (size_t t = 0; t < all[i].log_probabilities.size(); ++t) {
      EXPECT_NEAR(scored[i].log_probabilities[t], all[i].log_probabilities[t], 2e-5) << t;
    }
  }
}

// One at a time or together, packed or not, on one thread or two.
TEST_F(Marian, TranslationsDoNotDependOnTheBatch) {
  Translator together({path()}, greedy());
  together.pack();
  const auto all = together.translate(sources());
  TranslatorOptions options = greedy();
  options.crew.threads = 1;
  Translator alone({path()}, options);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto one = alone.translate(std::vector{sources()[i]});
    EXPECT_EQ(one[0].outputs[0].text, all[i].outputs[0].text);
    EXPECT_EQ(one[0].outputs[0].log_probabilities, all[i].outputs[0].log_probabilities);
  }
}

TEST_F(Marian, MostWordsStayInInt8AndFloat16) {
  const auto all = expected();
  for (const auto precision : {kernels::Precision::int8, kernels::Precision::float16}) {
    TranslatorOptions options = greedy();
    options.precision = precision;
    const auto made = Translator({path()}, options).translate(sources());
    int same = 0;
    for (size_t i = 0; i < all.size(); ++i) same += made[i].outputs[0].text == all[i].text ? 1 : 0;
    EXPECT_GE(same, precision == kernels::Precision::float16 ? 15 : 8);
  }
}

TEST_F(Marian, UnknownWordsAreNeverGiven) {
  TranslatorOptions options;
  options.search.beam = options.search.n_best = 4;
  const auto made = Translator({path()}, options).translate(sources());
  for (const auto& translation : made) {
    for (const auto& output : translation.outputs) {
      EXPECT_THAT(output.text, testing::Not(testing::HasSubstr("<unk>")));
      EXPECT_THAT(output.text, testing::Not(testing::HasSubstr("<s>")));
    }
  }
}

}  // namespace
}  // namespace residual::decode
