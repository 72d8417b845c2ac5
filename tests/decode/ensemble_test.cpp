#include "decode/ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "decode/score.h"
#include "decode/search.h"
#include "kernels/vocabulary.h"
#include "support/models.h"
#include "support/searches.h"
#include "support/sentences.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

using test::random_model;
using test::random_requests;
using test::random_sentence;
using test::same;
using test::search_with;
using test::small_config;
using test::small_model;

TEST(Ensemble, OfOneModelTwiceIsTheModel) {
  const auto model = small_model();
  const auto requests = random_requests(8);
  Search twice({model, model}, {});
  const auto got = search_all(twice, requests);
  const auto want = search_with({}, requests, model);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i][0].tokens, want[i][0].tokens);
    EXPECT_NEAR(got[i][0].score, want[i][0].score, 1e-5);
  }
}

TEST(Ensemble, ScoresByTheMeanProbability) {
  const std::vector<std::shared_ptr<const Weights>> models = {small_model(1), small_model(2)};
  const auto requests = random_requests(4);
  Search search(models, {});
  const auto results = search_all(search, requests);
  std::vector<Engine> engines;
  for (const auto& model : models) engines.emplace_back(model);
  for (size_t i = 0; i < results.size(); ++i) {
    const Pair pair = {requests[i].source, results[i][0].tokens};
    const auto parts = score(engines, {&pair, 1})[0];
    for (size_t j = 0; j < parts.size(); ++j) {
      EXPECT_NEAR(results[i][0].log_probabilities[j], parts[j], 1e-5);
    }
  }
}

TEST(Ensemble, GivesAttentionToThoseWhoWantIt) {
  const std::vector<std::shared_ptr<const Weights>> models = {small_model(1), small_model(2)};
  const auto with = std::make_shared<const SearchOptions>(SearchOptions{.with_attention = true});
  Search search(models, {});
  search_all(search, {{.source = random_sentence(1, 60), .search = with}});
  const auto requests = random_requests(40);  // more rows, and nobody wants it
  Search fresh(models, {});
  const auto got = search_all(search, requests), want = search_all(fresh, requests);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same(got[i], want[i])) << i;
}

TEST(Ensemble, RefusesModelsOfDifferentVocabularies) {
  model::Config other = small_config();
  other.source_vocabulary = other.target_vocabulary = 60;
  EXPECT_THROW(Search({small_model(), random_model(other).weights()}, {}), Error);
}

}  // namespace
}  // namespace residual::decode
