// The engine with blocks other than those of Vaswani et al. 2017.

#include <gtest/gtest.h>

#include "decode/score.h"
#include "decode/search.h"
#include "schemes/registry.h"
#include "support/block_kinds.h"
#include "support/double_transformer.h"
#include "support/searches.h"
#include "support/sentences.h"

namespace residual::decode {
namespace {

using test::random_model;
using test::random_sentence;
using test::same;

model::Config config_of(const test::BlockKind& blocks, model::Kind kind) {
  model::Config config = test::small_config();
  config.kind = kind;
  blocks.set(config);
  return config;
}

void expect_near(const std::vector<float>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t j = 0; j < got.size(); ++j) ASSERT_NEAR(got[j], want[j], 1e-4) << j;
}

void expect_logits_of_the_definition(const model::Config& config, const Pair& pair) {
  const auto model = random_model(config);
  const test::DoubleTransformer exact(model.config, model.values);
  Engine engine(model.weights());
  expect_near(forced_logits(engine, pair), exact.logits(pair.source, pair.target).at);
}

class EveryBlock : public testing::TestWithParam<test::BlockKind> {};
class EverySingleBlock : public EveryBlock {};

TEST_P(EveryBlock, TranslatesAsItsDefinitionInDoubles) {
  expect_logits_of_the_definition(config_of(GetParam(), model::Kind::translation),
                                  {random_sentence(2, 9), random_sentence(3, 20)});
}

TEST_P(EverySingleBlock, ContinuesTextsAsItsDefinitionInDoubles) {
  expect_logits_of_the_definition(config_of(GetParam(), model::Kind::language),
                                  {{}, random_sentence(3, 40)});
}

TEST_P(EverySingleBlock, EncodesAndPredictsAsItsDefinitionInDoubles) {
  const auto model = random_model(config_of(GetParam(), model::Kind::masked));
  const test::DoubleTransformer exact(model.config, model.values);
  Engine engine(model.weights());
  const auto ids = random_sentence(3, 11), others = random_sentence(4, 5);
  const std::vector<std::span<const int32_t>> sources = {ids, others};
  const Rows rows = engine.encode_rows(sources, nullptr);
  auto want = exact.encode(ids).at;
  const auto behind = exact.encode(others).at;
  want.insert(want.end(), behind.begin(), behind.end());
  expect_near({rows.data(), rows.data() + rows.size()}, want);
  const Rows from = engine.predictors(rows, nullptr);
  std::vector<float> logits(ids.size() * 50);
  engine.project(from, 0, static_cast<int64_t>(ids.size()), logits.data(), nullptr);
  expect_near(logits, exact.project(exact.encode(ids)).at);
}

// Prompts are read in one pass, every token is then decoded by itself, and beams copy no cache.
TEST_P(EverySingleBlock, GivesTokensTheBitsThatAWholePassGivesThem) {
  model::Config config = config_of(GetParam(), model::Kind::language);
  config.max_positions = 200;
  for (const auto precision : {Precision::float32, Precision::float16, Precision::int8}) {
    const auto model = random_model(config).weights(precision);
    for (const uint64_t length : {0, 5, 70}) {
      auto prompt = random_sentence(length, length);
      prompt.pop_back();
      SearchOptions options;
      options.beam = options.n_best = 3;
      options.max_length_factor = 0;
      options.max_length_offset = 20;
      Search search({model}, options);
      std::vector<Request> requests;
      for (int i = 0; i < 2; ++i) requests.push_back({.source = {}, .prefix = prompt});
      requests[1].prefix.insert(requests[1].prefix.end(), 9, 7);
      const auto found = search_all(search, requests);
      Search alone({model}, options);
      EXPECT_TRUE(same(search_all(alone, {requests[0]})[0], found[0]));
      Pair text = {{}, prompt};
      text.target.insert(text.target.end(), found[0][0].tokens.begin(), found[0][0].tokens.end());
      Engine engine(model);
      const auto whole = score({&engine, 1}, {&text, 1})[0];
      for (size_t i = 0; i < found[0][0].tokens.size(); ++i)
        EXPECT_EQ(found[0][0].log_probabilities[i], whole[prompt.size() + i]) << length << ' ' << i;
    }
  }
}

const auto kName = [](const auto& tested) { return tested.param.name; };
INSTANTIATE_TEST_SUITE_P(Blocks, EveryBlock, testing::ValuesIn(test::block_kinds()), kName);
INSTANTIATE_TEST_SUITE_P(Blocks, EverySingleBlock, testing::ValuesIn(test::single_stack_kinds()),
                         kName);

class EverySchemeWithToday : public testing::TestWithParam<schemes::Choice> {};

TEST_P(EverySchemeWithToday, ContinuesTextsAsItsDefinitionInDoubles) {
  for (const auto& kind : test::block_kinds()) {
    if (kind.name != "llama") continue;
    model::Config config = config_of(kind, model::Kind::language);
    config.residual = GetParam();
    expect_logits_of_the_definition(config, {{}, random_sentence(3, 20)});
  }
}

std::vector<schemes::Choice> all_schemes() {
  std::vector<schemes::Choice> all;
  for (const auto& entry : schemes::registry()) {
    if (entry.variants.empty()) all.push_back({.name = entry.name});
    for (const auto& variant : entry.variants)
      all.push_back({.name = entry.name, .variant = variant});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, EverySchemeWithToday, testing::ValuesIn(all_schemes()),
                         [](const auto& tested) {
                           std::string name = tested.param.name + tested.param.variant;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace residual::decode
