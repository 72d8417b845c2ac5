// Language models: decoders that continue a text. Masked models: encoders alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "decode/score.h"
#include "decode/search.h"
#include "schemes/registry.h"
#include "support/double_transformer.h"
#include "support/searches.h"
#include "support/sentences.h"

namespace residual::decode {
namespace {

using test::random_model;
using test::random_sentence;
using test::same;
using test::small_config;

model::Config config_of(model::Kind kind, const schemes::Choice& scheme = {}) {
  model::Config config = small_config();
  config.kind = kind;
  config.residual = scheme;
  config.max_positions = 700;
  return config;
}

std::shared_ptr<const Weights> language_model(Precision precision = Precision::float32,
                                              int64_t width = 24) {
  model::Config config = config_of(model::Kind::language);
  config.width = width;
  return random_model(config).weights(precision);
}

// A prompt of `length` tokens.
std::vector<int32_t> prompt(uint64_t seed, uint64_t length) {
  auto tokens = random_sentence(seed, length);
  tokens.pop_back();
  return tokens;
}

SearchOptions options_of(int64_t beam, int64_t tokens) {
  SearchOptions options;
  options.beam = options.n_best = beam;
  options.max_length_factor = 0;
  options.max_length_offset = static_cast<double>(tokens);
  return options;
}

std::vector<std::vector<Hypothesis>> continued(const std::shared_ptr<const Weights>& model,
                                               const SearchOptions& options,
                                               const std::vector<std::vector<int32_t>>& prompts,
                                               Team* team = nullptr) {
  std::vector<Request> requests;
  for (const auto& each : prompts) requests.push_back({.source = {}, .prefix = each});
  Search search({model}, options);
  return search_all(search, std::move(requests), team);
}

class EverySingleStack : public testing::TestWithParam<schemes::Choice> {};

TEST_P(EverySingleStack, DecodesAsALanguageModelWhatItsDefinitionInDoublesGives) {
  const auto model = random_model(config_of(model::Kind::language, GetParam()));
  const test::DoubleTransformer exact(model.config, model.values);
  Engine engine(model.weights());
  const Pair text = {{}, random_sentence(3, 11)};
  const auto got = forced_logits(engine, text);
  const auto want = exact.logits({}, text.target).at;
  ASSERT_EQ(got.size(), want.size());
  for (size_t j = 0; j < got.size(); ++j) ASSERT_NEAR(got[j], want[j], 1e-4) << j;
}

TEST_P(EverySingleStack, EncodesAsAMaskedModelWhatItsDefinitionInDoublesGives) {
  const auto model = random_model(config_of(model::Kind::masked, GetParam()));
  const test::DoubleTransformer exact(model.config, model.values);
  Engine engine(model.weights());
  const auto ids = random_sentence(3, 11);
  const std::span<const int32_t> source = ids;
  const Rows rows = engine.encode_rows({&source, 1}, nullptr);
  const auto want = exact.encode(ids);
  for (int64_t j = 0; j < rows.size(); ++j) ASSERT_NEAR(rows.data()[j], want.at[j], 1e-4) << j;
  std::vector<float> logits(ids.size() * 50);
  engine.project(rows, 0, rows.rows(), logits.data(), nullptr);
  const auto projected = exact.project(want).at;
  for (size_t j = 0; j < logits.size(); ++j) ASSERT_NEAR(logits[j], projected[j], 1e-4) << j;
}

std::vector<schemes::Choice> all_schemes() {
  std::vector<schemes::Choice> all;
  for (const auto& entry : schemes::registry()) {
    all.push_back(
        {.name = entry.name, .variant = entry.variants.empty() ? "" : entry.variants.front()});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Language, EverySingleStack, testing::ValuesIn(all_schemes()),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Prompts are read in one pass, and every token is then decoded by itself.
TEST(LanguageModel, GivesTokensTheBitsThatAWholePassGivesThem) {
  for (const auto precision : {Precision::float32, Precision::float16, Precision::int8}) {
    const auto model = language_model(precision);
    for (const uint64_t length : {0, 1, 5, 70, 300}) {
      const auto begun = prompt(length, length);
      const auto found = continued(model, options_of(1, 20), {begun})[0][0];
      Pair text = {{}, begun};
      text.target.insert(text.target.end(), found.tokens.begin(), found.tokens.end());
      Engine engine(model);
      const auto whole = score({&engine, 1}, {&text, 1})[0];
      for (size_t i = 0; i < found.tokens.size(); ++i) {
        EXPECT_EQ(found.log_probabilities[i], whole[begun.size() + i]) << length << ' ' << i;
      }
    }
  }
}

TEST(LanguageModel, ContinuesWhatItHasWrittenAsItWouldHave) {
  const auto model = language_model();
  const auto begun = prompt(1, 9);
  const auto whole = continued(model, options_of(1, 20), {begun})[0][0];
  ASSERT_GT(whole.tokens.size(), 4u);
  auto further = begun;
  further.insert(further.end(), whole.tokens.begin(), whole.tokens.begin() + 3);
  const auto rest = continued(model, options_of(1, 17), {further})[0][0];
  EXPECT_EQ(rest.tokens, std::vector(whole.tokens.begin() + 3, whole.tokens.end()));
}

TEST(LanguageModel, TreatsAPromptAloneAsAmongOthers) {
  std::vector<std::vector<int32_t>> prompts;
  for (uint64_t i = 0; i < 7; ++i) prompts.push_back(prompt(i, i * i * 9));
  SearchOptions sampling = options_of(3, 12);
  sampling.sampling.is_on = true;
  Team team(2);
  // Of width 48, the output matrix has a screen.
  for (const auto& model : {language_model(), language_model(Precision::int8),
                            language_model(Precision::float32, 48)}) {
    for (const auto& options : {options_of(1, 12), options_of(4, 12), sampling}) {
      const auto together = continued(model, options, prompts);
      const auto with_team = continued(model, options, prompts, &team);
      for (size_t i = 0; i < prompts.size(); ++i) {
        EXPECT_TRUE(same(continued(model, options, {prompts[i]})[0], together[i])) << i;
        EXPECT_TRUE(same(with_team[i], together[i])) << i;
      }
    }
  }
}

TEST(LanguageModel, SamplesTheSameWithTheSameSeedAlone) {
  SearchOptions options = options_of(2, 30);
  options.sampling.is_on = true;
  const auto model = language_model();
  const auto first = continued(model, options, {prompt(1, 5)})[0];
  EXPECT_TRUE(same(continued(model, options, {prompt(1, 5)})[0], first));
  options.sampling.seed = 2;
  EXPECT_FALSE(same(continued(model, options, {prompt(1, 5)})[0], first));
  EXPECT_NE(first[0].tokens, first[1].tokens);
}

TEST(LanguageModel, ScoresOnlyWhatFollowsThePrompt) {
  SearchOptions options = options_of(1, 20);
  options.length_penalty = 0;
  const auto found = continued(language_model(), options, {prompt(1, 9)})[0][0];
  double sum = 0;
  for (const float each : found.log_probabilities) sum += each;
  EXPECT_EQ(found.log_probabilities.size(), found.tokens.size());
  EXPECT_NEAR(found.score, sum, 1e-4);
}

TEST(LanguageModel, EndsAfterTheLimitAndNotBeforeTheLeast) {
  SearchOptions options = options_of(1, 6);
  options.min_length = 6;
  const auto found = continued(language_model(), options, {prompt(1, 100)})[0][0];
  EXPECT_EQ(found.tokens.size(), 7u);
  EXPECT_EQ(found.tokens.back(), text::Vocabulary::kEos);
}

TEST(LanguageModel, TellsEachTokenAsItComes) {
  std::vector<int32_t> told;
  Search search({language_model()}, options_of(1, 20));
  std::vector<Request> requests = {{.source = {}, .prefix = prompt(1, 9)}};
  requests[0].progress = [&](int32_t token) { told.push_back(token); };
  auto found = search_all(search, std::move(requests))[0][0].tokens;
  found.pop_back();  // </s>
  EXPECT_EQ(told, found);
}

TEST(LanguageModel, TakesNoSource) {
  Search search({language_model()}, {});
  std::vector<Request> requests = {{.source = random_sentence(1, 3)}};
  EXPECT_THROW(search.add(requests), Error);
}

}  // namespace
}  // namespace residual::decode
