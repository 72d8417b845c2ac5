// Penalties of a search against their formulas, from whole logits and attention.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "decode/score.h"
#include "decode/search.h"
#include "support/models.h"
#include "support/sentences.h"

namespace residual::decode {
namespace {

using test::random_model;
using test::random_sentence;
using test::small_config;

std::vector<std::vector<Hypothesis>> search_with(
    const SearchOptions& options, const std::vector<Request>& requests,
    const std::vector<std::shared_ptr<const Weights>>& models) {
  Search search(models, options);
  return search_all(search, requests);
}

std::vector<Request> some_requests() {
  std::vector<Request> requests;
  for (uint64_t i = 0; i < 6; ++i) requests.push_back({.source = random_sentence(i, 3 + 2 * i)});
  requests[1].prefix = {7, 9, 7};
  return requests;
}

// log softmax of a row in which what was said before is penalised.
std::vector<double> penalised(const float* logits, int64_t vocabulary,
                              std::span<const int32_t> said, double penalty) {
  std::vector<double> row(logits, logits + vocabulary);
  for (const int32_t token : std::set<int32_t>(said.begin(), said.end())) {
    row[token] = row[token] > 0 ? row[token] / penalty : row[token] * penalty;
  }
  double sum = 0;
  for (const double x : row) sum += std::exp(x);
  for (double& x : row) x -= std::log(sum);
  return row;
}

TEST(RepetitionPenalty, ChangesTheLogitsOfWhatWasSaid) {
  const auto model = random_model(small_config(), 3).weights(Precision::float32);
  const int64_t vocabulary = model->config().target_vocabulary;
  const auto requests = some_requests();
  Engine engine(model);
  for (const double penalty : {0.5, 1.3, 20.0}) {
    for (const bool is_drawn : {false, true}) {
      const SearchOptions options = {.beam = 3,
                                     .n_best = 3,
                                     .max_length_factor = 1,
                                     .repetition_penalty = penalty,
                                     .sampling = {.is_on = is_drawn}};
      const auto found = search_with(options, requests, {model});
      for (size_t i = 0; i < requests.size(); ++i) {
        for (const auto& h : found[i]) {
          const Pair pair = {.source = requests[i].source, .target = h.tokens};
          const auto logits = forced_logits(engine, pair);
          for (size_t t = 0; t < h.tokens.size(); ++t) {
            const auto row = penalised(logits.data() + static_cast<int64_t>(t) * vocabulary,
                                       vocabulary, std::span(h.tokens).first(t), penalty);
            EXPECT_NEAR(h.log_probabilities[t], row[h.tokens[t]], 1e-5) << t;
          }
        }
      }
    }
  }
}

// Each model's logits are penalised: two that are the same say what one says.
TEST(RepetitionPenalty, IsThatOfEveryModel) {
  const auto model = random_model(small_config(), 3).weights(Precision::float32);
  const SearchOptions options = {.beam = 3, .n_best = 3, .repetition_penalty = 1.5};
  const auto one = search_with(options, some_requests(), {model});
  const auto two = search_with(options, some_requests(), {model, model});
  for (size_t i = 0; i < one.size(); ++i) {
    for (size_t rank = 0; rank < one[i].size(); ++rank) {
      ASSERT_EQ(two[i][rank].tokens, one[i][rank].tokens) << i;
      EXPECT_NEAR(two[i][rank].score, one[i][rank].score, 1e-5) << i;
    }
  }
}

TEST(RepetitionPenalty, KeepsAGreedySearchFromRepeatingItself) {
  const auto model = random_model(small_config(), 5).weights(Precision::float32);
  const auto repeats = [&](double penalty) {
    int64_t count = 0;
    const SearchOptions options = {.beam = 1, .min_length = 12, .repetition_penalty = penalty};
    for (const auto& hypotheses : search_with(options, some_requests(), {model})) {
      auto tokens = hypotheses[0].tokens;
      std::ranges::sort(tokens);
      count += tokens.end() - std::unique(tokens.begin(), tokens.end());
    }
    return count;
  };
  const int64_t without = repeats(1);
  EXPECT_GT(without, 20) << "the model does not repeat itself: nothing is tested";
  EXPECT_LT(repeats(20), without / 4);
}

TEST(CoveragePenalty, IsTheLogarithmOfTheAttentionEachSourceTokenGot) {
  std::vector<std::shared_ptr<const Weights>> models;
  for (const uint64_t seed : {3, 4}) {
    models.push_back(random_model(small_config(), seed).weights(Precision::float32));
  }
  const auto requests = some_requests();
  for (const size_t count : {1, 2}) {
    for (const Stop stop : {Stop::full, Stop::bound}) {
      const SearchOptions options = {.beam = 4,
                                     .n_best = 4,
                                     .length_penalty = 0.7,
                                     .stop = stop,
                                     .coverage_penalty = 0.3,
                                     .with_attention = true};
      const auto found = search_with(options, requests, {models.begin(), models.begin() + count});
      for (size_t i = 0; i < requests.size(); ++i) {
        for (const auto& h : found[i]) {
          double term = 0;
          for (size_t s = 0; s < requests[i].source.size(); ++s) {
            double got = 0;
            for (const auto& row : h.attention) got += row[s];
            term += std::log(std::min(got, 1.0));
          }
          const double sum =
              std::accumulate(h.log_probabilities.begin(), h.log_probabilities.end(), 0.0);
          const double length = std::pow(static_cast<double>(h.tokens.size()), 0.7);
          EXPECT_NEAR(h.score, sum / length + 0.3 * term, 1e-5);
          EXPECT_NEAR(h.coverage, 0.3 * term, 1e-6);
        }
        EXPECT_TRUE(std::ranges::is_sorted(found[i], std::greater<>(), &Hypothesis::score));
      }
    }
  }
}

TEST(CoveragePenalty, GivesNoAttentionThatNobodyWants) {
  const auto model = random_model(small_config(), 3).weights(Precision::float32);
  for (const auto& found : search_with({.coverage_penalty = 0.3}, some_requests(), {model})) {
    EXPECT_TRUE(found[0].attention.empty());
    EXPECT_LE(found[0].coverage, 0);
  }
}

// An endless search may only find better ones, whatever their coverage.
TEST(CoveragePenalty, LeavesNothingBetterToASearchThatEndsByItsBound) {
  const auto model = random_model(small_config(), 6).weights(Precision::float32);
  SearchOptions options = {.beam = 4, .coverage_penalty = 0.5};
  const auto full = search_with(options, some_requests(), {model});
  options.stop = Stop::bound;
  const auto bound = search_with(options, some_requests(), {model});
  for (size_t i = 0; i < full.size(); ++i) {
    EXPECT_GE(bound[i][0].score, full[i][0].score - 1e-6) << i;
  }
}

TEST(Penalties, MustBeOfUse) {
  for (const double x : {0.0, -1.0, 1e9, std::nan("")}) {
    EXPECT_THROW(check({.repetition_penalty = x}), Error) << x;
  }
  for (const double x : {-0.1, 1e9, std::nan("")}) {
    EXPECT_THROW(check({.coverage_penalty = x}), Error) << x;
  }
  EXPECT_NO_THROW(check({.repetition_penalty = 1.2, .coverage_penalty = 0.2}));
}

}  // namespace
}  // namespace residual::decode
