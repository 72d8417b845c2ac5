#include "decode/rules/prefix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "decode/score.h"
#include "decode/search.h"
#include "support/searches.h"

namespace residual::decode {
namespace {

using test::models_of_each_kind;
using test::random_requests;
using test::same;
using test::search_with;
using testing::Each;
using testing::FloatNear;
using testing::Pointwise;
using testing::SizeIs;

TEST(Prefix, BeginsEveryHypothesis) {
  auto requests = random_requests(6);
  for (size_t i = 0; i < requests.size(); ++i) requests[i].prefix.assign(i, 10);
  for (const bool is_random : {false, true}) {
    const auto results =
        search_with({.beam = 4, .n_best = 4, .sampling = {.is_on = is_random}}, requests);
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_THAT(results[i], SizeIs(4));
      for (const auto& h : results[i]) {
        ASSERT_GE(h.tokens.size(), i);
        EXPECT_THAT(std::vector(h.tokens.begin(), h.tokens.begin() + i), Each(10));
      }
    }
  }
}

TEST(Prefix, OfTheTranslationItselfLeadsToTheSame) {
  auto requests = random_requests(6);
  const auto free = search_with({.beam = 1}, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& tokens = free[i][0].tokens;
    requests[i].prefix.assign(tokens.begin(), tokens.begin() + tokens.size() / 2);
  }
  const auto forced = search_with({.beam = 1}, requests);
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_TRUE(same(free[i], forced[i]));
}

// Summaries of the logits are asked for the prefix's token, as score() asks for its own; the sums
// of whole rows may differ in the last bits.
TEST(Prefix, HasTheLogProbabilitiesThatTheModelGivesIt) {
  auto requests = random_requests(6);
  for (size_t i = 0; i < requests.size(); ++i) {
    for (size_t k = 0; k < i; ++k) requests[i].prefix.push_back(static_cast<int32_t>(4 + 7 * k));
  }
  for (const auto& model : models_of_each_kind()) {
    Engine engine(model);
    for (const int64_t ngram : {0, 5}) {  // 5: whole rows of logits
      const auto results = search_with({.beam = 3, .no_repeat_ngram = ngram}, requests, model);
      for (size_t i = 0; i < requests.size(); ++i) {
        const Pair pair = {requests[i].source, results[i][0].tokens};
        EXPECT_THAT(results[i][0].log_probabilities, Pointwise(FloatNear(ngram == 0 ? 0 : 1e-4F),
                                                               score({&engine, 1}, {&pair, 1})[0]));
      }
    }
  }
}

}  // namespace
}  // namespace residual::decode
