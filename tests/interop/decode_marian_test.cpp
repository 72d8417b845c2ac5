// A model that Marian trained gives what Marian gives: the words, and every token's probability.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>

#include "decode/translator.h"
#include "interop/marian.h"
#include "interop/npz.h"
#include "support/paths.h"
#include "support/temporary.h"

namespace residual::decode {
namespace {

const fs::path kData = fs::path(test::fixtures()) / "marian";

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
  Marian() { import_from(kData / "tiny.npz"); }

  void import_from(const fs::path& weights) const {
    interop::import_marian({.weights = weights,
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

// The largest difference of a token's log-probability from float32's.
double largest_difference(const fs::path& path, kernels::Precision precision) {
  const auto all = expected();
  std::vector<std::string> targets;
  for (const auto& e : all) targets.push_back(e.text);
  TranslatorOptions options;
  options.precision = precision;
  const auto scored = Translator({path}, options).score(sources(), targets);
  double largest = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t t = 0; t < all[i].log_probabilities.size(); ++t) {
      const double difference = scored[i].log_probabilities[t] - all[i].log_probabilities[t];
      largest = std::max(largest, std::abs(difference));
    }
  }
  return largest;
}

TEST_F(Marian, ProbabilitiesStayInFloat16AndInt8) {
  EXPECT_LT(largest_difference(path(), kernels::Precision::float16), 0.02);
  EXPECT_LT(largest_difference(path(), kernels::Precision::int8), 0.5);
}

// A model that would rather say nothing else.
TEST_F(Marian, UnknownWordsAreNeverGiven) {
  std::string bytes = read_file(kData / "tiny.npz");
  const auto npz = interop::Npz::open(kData / "tiny.npz");
  const std::string_view bias = npz.at("decoder_ff_logit_out_b").bytes;
  const float likely = 50;
  const size_t at = bytes.find(bias) + 1 * sizeof(float);  // <unk> is 1 in Marian
  std::memcpy(bytes.data() + at, &likely, sizeof likely);
  replace_file(directory_ / "likely.npz", bytes);
  import_from(directory_ / "likely.npz");
  TranslatorOptions options;
  options.search.beam = options.search.n_best = 4;
  for (const auto& translation : Translator({path()}, options).translate(sources())) {
    for (const auto& output : translation.outputs) {
      EXPECT_EQ(std::ranges::count(output.tokens, text::Vocabulary::kUnk), 0);
      EXPECT_LT(output.log_probabilities[0], -20) << "<unk> is no longer likely";
    }
  }
}

// Pre-norm, max(0, x), three matrices of embeddings, vocabularies in JSON and as lines.
TEST(MarianPreNorm, ScoresAsMarianDoes) {
  const test::TemporaryDirectory directory;
  interop::import_marian({.weights = kData / "pre.npz",
                          .source_vocabulary = kData / "pre.en.vocab",
                          .target_vocabulary = kData / "pre.art.json",
                          .source_language = "en",
                          .target_language = "art"},
                         directory / "model");
  const Translator translator({directory / "model"}, TranslatorOptions());
  EXPECT_EQ(translator.config().sharing, model::Sharing::none);
  std::ifstream file(kData / "pre.scored.txt");
  int pairs = 0;
  for (std::string source, target, score; std::getline(file, source, '\t'); ++pairs) {
    std::getline(file, target, '\t');
    std::getline(file, score);
    const auto scored = translator.score(std::vector{source}, std::vector{target});
    const auto& tokens = scored[0].log_probabilities;
    EXPECT_NEAR(std::accumulate(tokens.begin(), tokens.end(), 0.0), std::stod(score), 2e-4);
  }
  EXPECT_EQ(pairs, 16);
}

}  // namespace
}  // namespace residual::decode
