// Diverse beam search against what groups must be: searches of their own, a greedy search that
// avoids what was chosen before it, and scores that are the model's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/error.h"
#include "decode/score.h"
#include "decode/search.h"
#include "kernels/vocabulary.h"
#include "support/models.h"
#include "support/sentences.h"

namespace residual::decode {
namespace {

using test::random_model;
using test::random_sentence;
using test::small_config;
using text::Vocabulary;
using Tokens = std::vector<int32_t>;

std::vector<Request> some_requests() {
  std::vector<Request> requests;
  for (uint64_t i = 0; i < 8; ++i) requests.push_back({.source = random_sentence(i, 2 + 2 * i)});
  requests[1].prefix = {7, 9, 7};
  return requests;
}

std::vector<std::vector<Hypothesis>> search_with(
    const SearchOptions& options,
    const std::shared_ptr<const Weights>& model = random_model(small_config(), 3).weights()) {
  Search search({model}, options);
  return search_all(search, some_requests());
}

std::vector<Tokens> tokens_of(const std::vector<Hypothesis>& hypotheses) {
  std::vector<Tokens> all;
  for (const auto& h : hypotheses) all.push_back(h.tokens);
  return all;
}

TEST(DiverseGroups, AreSearchesOfTheirOwnIfLikenessCostsNothing) {
  const auto grouped =
      search_with({.beam = 6, .n_best = 6, .diverse_groups = 3, .diverse_strength = 0});
  const auto alone = search_with({.beam = 2, .n_best = 2});
  for (size_t i = 0; i < alone.size(); ++i) {
    ASSERT_EQ(grouped[i].size(), 3 * alone[i].size()) << i;
    for (size_t rank = 0; rank < grouped[i].size(); ++rank) {
      EXPECT_EQ(grouped[i][rank].tokens, alone[i][rank / 3].tokens) << i;
      EXPECT_EQ(grouped[i][rank].score, alone[i][rank / 3].score) << i;
    }
  }
}

TEST(DiverseGroups, BeginWithAnOrdinarySearch) {
  const auto grouped =
      search_with({.beam = 6, .n_best = 6, .diverse_groups = 3, .diverse_strength = 2});
  const auto alone = search_with({.beam = 2, .n_best = 2});
  for (size_t i = 0; i < alone.size(); ++i) {
    for (const auto& tokens : tokens_of(alone[i])) {
      EXPECT_EQ(std::ranges::count(tokens_of(grouped[i]), tokens), 1) << i;
    }
  }
}

// Groups of one, from the logits of each hypothesis so far: the likeliest token, less what those
// cost that groups before have chosen in this step.
std::vector<Tokens> chosen_in_turn(Engine& engine, const Request& request, int groups,
                                   double strength, size_t longest) {
  const int64_t vocabulary = engine.weights().config().target_vocabulary;
  std::vector<Tokens> all(groups, request.prefix);
  const auto has_ended = [](const Tokens& y) { return !y.empty() && y.back() == Vocabulary::kEos; };
  for (size_t length = request.prefix.size(); length <= longest; ++length) {
    Tokens taken;
    for (Tokens& y : all) {
      if (has_ended(y)) continue;
      Pair pair = {.source = request.source, .target = y};
      pair.target.push_back(Vocabulary::kEos);
      const auto logits = forced_logits(engine, pair);
      const float* const row = logits.data() + static_cast<int64_t>(length) * vocabulary;
      int32_t best = Vocabulary::kEos;
      double most = -std::numeric_limits<double>::infinity();
      for (int32_t token = 0; token < vocabulary && length < longest; ++token) {
        const bool is_early = token == Vocabulary::kEos && length < 1;
        if (token == Vocabulary::kPad || is_early) continue;
        const auto times = static_cast<double>(std::ranges::count(taken, token));
        if (row[token] - strength * times > most) {
          most = row[token] - strength * times;
          best = token;
        }
      }
      y.push_back(best);
      if (best != Vocabulary::kEos) taken.push_back(best);
    }
  }
  return all;
}

TEST(DiverseGroups, OfOneAvoidWhatThoseBeforeHaveChosen) {
  const auto model = random_model(small_config(), 3).weights();
  const auto requests = some_requests();
  Engine engine(model);
  size_t differing = 0;
  for (const double strength : {0.3, 1.5, 100.0}) {
    const auto found = search_with({.beam = 4,
                                    .n_best = 4,
                                    .max_length_factor = 0,
                                    .max_length_offset = 12,
                                    .diverse_groups = 4,
                                    .diverse_strength = strength},
                                   model);
    for (size_t i = 0; i < requests.size(); ++i) {
      auto expected = chosen_in_turn(engine, requests[i], 4, strength, 12);
      auto got = tokens_of(found[i]);
      differing += std::set<Tokens>(got.begin(), got.end()).size();
      std::ranges::sort(expected);
      std::ranges::sort(got);
      EXPECT_EQ(got, expected) << i << " at " << strength;
    }
  }
  EXPECT_GT(differing, 2 * requests.size() * 3) << "all are alike: nothing is tested";
}

TEST(DiverseGroups, HaveTheModelsOwnScores) {
  const auto model = random_model(small_config(), 3).weights();
  const auto requests = some_requests();
  std::vector<Engine> engines;
  engines.emplace_back(model);
  const SearchOptions options = {
      .beam = 6, .n_best = 6, .diverse_groups = 2, .diverse_strength = 3};
  const auto found = search_with(options, model);
  for (size_t i = 0; i < requests.size(); ++i) {
    for (const auto& h : found[i]) {
      const Pair pair = {.source = requests[i].source, .target = h.tokens};
      const auto log_probabilities = score(engines, std::span(&pair, 1))[0];
      const double sum = std::accumulate(log_probabilities.begin(), log_probabilities.end(), 0.0);
      EXPECT_NEAR(h.score, normalised(options, sum, static_cast<int64_t>(h.tokens.size())), 1e-5);
    }
  }
}

// The n likeliest tokens after the prefix, </s> among them where it may be.
Tokens likeliest_next(Engine& engine, const Request& request, int n, int64_t min_length) {
  const int64_t vocabulary = engine.weights().config().target_vocabulary;
  Pair pair = {.source = request.source, .target = request.prefix};
  pair.target.push_back(Vocabulary::kEos);
  const auto logits = forced_logits(engine, pair);
  const auto length = static_cast<int64_t>(request.prefix.size());
  Tokens tokens;
  for (int32_t token = 0; token < vocabulary; ++token) {
    const bool is_early = token == Vocabulary::kEos && length < min_length;
    if (token != Vocabulary::kPad && !is_early) tokens.push_back(token);
  }
  std::ranges::stable_sort(tokens, std::greater<>(),
                           [&](int32_t token) { return logits[length * vocabulary + token]; });
  tokens.resize(n);
  return tokens;
}

TEST(Alternatives, AreTheBestOfSearchesThatBeginWithTheLikeliestTokens) {
  const auto model = random_model(small_config(), 3).weights();
  Engine engine(model);
  for (const int n : {1, 4, 6}) {
    for (const int64_t min_length : {0, 1, 5}) {
      const SearchOptions options = {
          .beam = 12, .n_best = n, .min_length = min_length, .alternatives = true};
      const SearchOptions each = {.beam = 12 / n, .min_length = min_length};
      const auto found = search_with(options, model);
      const auto requests = some_requests();
      for (size_t i = 0; i < requests.size(); ++i) {
        std::vector<Hypothesis> expected;
        for (const int32_t token : likeliest_next(engine, requests[i], n, min_length)) {
          Request request = requests[i];
          request.prefix.push_back(token);
          if (token == Vocabulary::kEos) {  // which no prefix may have
            const Pair pair = {.source = request.source, .target = request.prefix};
            const auto parts = score({&engine, 1}, {&pair, 1})[0];
            const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
            const auto length = static_cast<int64_t>(request.prefix.size());
            expected.push_back({.tokens = request.prefix, .score = normalised(each, sum, length)});
          } else {
            Search search({model}, each);
            expected.push_back(search_all(search, {request})[0][0]);
          }
        }
        std::ranges::stable_sort(expected, std::greater<>(), &Hypothesis::score);
        ASSERT_EQ(tokens_of(found[i]), tokens_of(expected)) << n << ' ' << min_length << ' ' << i;
        for (int rank = 0; rank < n; ++rank) {
          EXPECT_NEAR(found[i][rank].score, expected[rank].score, 1e-6);
        }
      }
    }
  }
}

TEST(Alternatives, ShareTheBeamAlone) {
  EXPECT_NO_THROW(check({.beam = 6, .n_best = 3, .alternatives = true}));
  EXPECT_THROW(check({.beam = 5, .n_best = 3, .alternatives = true}), Error);
  EXPECT_THROW(check({.beam = 4, .n_best = 2, .diverse_groups = 2, .alternatives = true}), Error);
  EXPECT_THROW(check({.beam = 4, .n_best = 2, .stop = Stop::first, .alternatives = true}), Error);
}

TEST(DiverseGroups, MustDivideTheBeam) {
  EXPECT_NO_THROW(check({.beam = 6, .diverse_groups = 3}));
  EXPECT_THROW(check({.beam = 5, .diverse_groups = 2}), Error);
  EXPECT_THROW(check({.beam = 5, .diverse_groups = 0}), Error);
  EXPECT_THROW(check({.beam = 4, .diverse_groups = 8}), Error);
  EXPECT_THROW(check({.beam = 4, .diverse_groups = 2, .diverse_strength = -1}), Error);
  EXPECT_THROW(check({.beam = 4, .stop = Stop::bound, .diverse_groups = 2}), Error);
  EXPECT_THROW(check({.beam = 4, .diverse_groups = 2, .sampling = {.is_on = true}}), Error);
}

}  // namespace
}  // namespace residual::decode
