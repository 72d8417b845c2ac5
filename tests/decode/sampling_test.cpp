#include "decode/rules/sampling.h"

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

using test::random_requests;
using test::same;
using test::search_with;

TEST(Sampling, IsAFunctionOfSeedAndSentence) {
  const auto requests = random_requests(10);
  const SearchOptions options = {.beam = 3, .n_best = 3, .sampling = {.is_on = true, .seed = 7}};
  const auto results = search_with(options, requests);
  std::vector<Request> reversed(requests.rbegin(), requests.rend());
  const auto again = search_with(options, reversed);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(same(results[i], again[results.size() - 1 - i]));
  }
  SearchOptions other = options;
  other.sampling.seed = 8;
  EXPECT_FALSE(same(search_with(other, requests)[0], results[0]));
}

TEST(Sampling, FromTheLikeliestTokenIsGreedy) {
  const auto requests = random_requests(6);
  const auto greedy = search_with({.beam = 1}, requests);
  const auto top_k = search_with({.beam = 1, .sampling = {.is_on = true, .top_k = 1}}, requests);
  const auto top_p = search_with({.beam = 1, .sampling = {.is_on = true, .top_p = 1e-6}}, requests);
  const auto cold =
      search_with({.beam = 1, .sampling = {.is_on = true, .temperature = 1e-4}}, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(top_k[i][0].tokens, greedy[i][0].tokens);
    EXPECT_EQ(top_p[i][0].tokens, greedy[i][0].tokens);
    EXPECT_EQ(cold[i][0].tokens, greedy[i][0].tokens);
  }
}

TEST(Sampling, FollowsTheProbabilities) {
  Sampler sampler(3);
  std::vector<int> counts(3);
  const Random random(1);
  for (uint64_t i = 0; i < 20000; ++i) {
    std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.2F)};
    ++counts[sampler.draw(logits.data(), {.is_on = true}, {}, 0, random.uniform(i)).token];
  }
  EXPECT_NEAR(counts[0] / 20000.0, 0.5, 0.02);
  EXPECT_NEAR(counts[1] / 20000.0, 0.3, 0.02);
}

}  // namespace
}  // namespace residual::decode
