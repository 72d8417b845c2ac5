#include "decode/rules/beam.h"

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

using test::models_of_each_kind;
using test::random_requests;
using test::search_with;
using test::small_model;

TEST(Beam, OfWidthOneIsGreedy) {
  const auto model = small_model();
  Engine engine(model);
  const auto requests = random_requests(5);
  const auto results = search_with({.beam = 1, .min_length = 0}, requests, model);
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& tokens = results[i][0].tokens;
    const auto logits = forced_logits(engine, {requests[i].source, tokens});
    const int64_t vocabulary = model->config().target_vocabulary;
    for (size_t t = 0; t + 1 < tokens.size(); ++t) {
      auto row = std::span(logits).subspan(t * vocabulary, vocabulary);
      const auto best = std::ranges::max_element(row) - row.begin();
      EXPECT_TRUE(tokens[t] == best || best == text::Vocabulary::kPad);
    }
  }
}

TEST(Beam, ReportsTheScoreThatTheHypothesisHas) {
  const auto requests = random_requests(8);
  for (const auto& model : models_of_each_kind()) {
    Engine engine(model);
    for (const double penalty : {0.0, 0.6, 1.0}) {
      const int64_t beam = penalty == 0 ? 9 : 4;
      const auto results =
          search_with({.beam = beam, .n_best = 4, .length_penalty = penalty, .word_penalty = 0.3},
                      requests, model);
      for (size_t i = 0; i < requests.size(); ++i) {
        for (const auto& h : results[i]) {
          const Pair pair = {requests[i].source, h.tokens};
          const auto parts = score({&engine, 1}, {&pair, 1})[0];
          EXPECT_EQ(parts, h.log_probabilities);
          const auto n = static_cast<double>(h.tokens.size());
          const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
          EXPECT_NEAR(h.score, (sum - 0.3 * n) / std::pow(n, penalty), 1e-5);
        }
      }
    }
  }
}

TEST(Stop, WhereNothingBetterCanComeGivesTheBestOfALongerSearch) {
  const auto requests = random_requests(10);
  const auto full = search_with({.stop = Stop::full}, requests);
  const auto bound = search_with({.stop = Stop::bound}, requests);
  const auto first = search_with({.stop = Stop::first}, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_GE(bound[i][0].score, first[i][0].score);
    if (bound[i][0].score < full[i][0].score) ADD_FAILURE() << i;
  }
}

TEST(Stop, WhereNothingBetterCanComeCountsWhatUnkMayBring) {
  const auto requests = random_requests(100);
  for (const double penalty : {-4.0, -6.0}) {
    SearchOptions options = {.beam = 6, .stop = Stop::bound, .unk_penalty = penalty};
    const auto one = search_with(options, requests);
    options.n_best = 6;
    const auto all = search_with(options, requests);
    for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(one[i][0].score, all[i][0].score) << i;
  }
}

// A beam of one follows the likeliest tokens that are not </s>; a translation ends wherever </s> is
// the likeliest. The shortest lengths show every such end.
TEST(Stop, WhereNothingBetterCanComeGivesTheBestOfAnEndlessSearch) {
  for (const double penalty : {0.0, 1.0, 2.0}) {
    const auto requests = random_requests(10);
    SearchOptions options = {.beam = 1, .length_penalty = penalty, .stop = Stop::bound};
    const auto bound = search_with(options, requests);
    std::vector<double> best(requests.size(), -std::numeric_limits<double>::infinity());
    options.stop = Stop::full;
    int ends = 0;
    for (options.min_length = 1; options.min_length <= 40; ++options.min_length) {
      const auto full = search_with(options, requests);
      for (size_t i = 0; i < requests.size(); ++i) {
        ends += full[i][0].score > best[i];
        best[i] = std::max(best[i], full[i][0].score);
      }
    }
    EXPECT_GE(ends, penalty > 0 ? 11 : 10);  // some are better than the first
    for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(bound[i][0].score, best[i]) << i;
  }
}

}  // namespace
}  // namespace residual::decode
