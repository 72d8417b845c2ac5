#include "decode/rules/phrase_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

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
using testing::ElementsAre;
using testing::IsEmpty;
using Tokens = std::vector<int32_t>;

bool contains(const Tokens& tokens, const Tokens& phrase) {
  return !std::ranges::search(tokens, phrase).empty();
}

struct Constrained {
  std::vector<Request> requests;
  std::vector<std::shared_ptr<const Weights>> models;
};

// Sentences with from none to three phrases of up to three tokens.
Constrained constrained() {
  Constrained all;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    all.models.push_back(random_model(small_config(), seed).weights());
  }
  for (uint64_t i = 0; i < 12; ++i) {
    Request request{.source = random_sentence(i, Random(9).below(i, 12))};
    std::vector<Tokens> phrases;
    for (uint64_t p = 0; p < i % 4; ++p) {
      Tokens phrase = random_sentence(100 + 4 * i + p, Random(8).below(4 * i + p, 3));
      phrase.pop_back();
      if (!phrase.empty()) phrases.push_back(phrase);
    }
    if (i == 7) request.prefix = {9, 8};
    if (!phrases.empty()) request.phrases = std::make_shared<Phrases>(phrases);
    all.requests.push_back(request);
  }
  return all;
}

TEST(SearchForPhrases, FindsTranslationsThatContainThemWithTheirScores) {
  const auto [requests, models] = constrained();
  for (const Stop stop : {Stop::full, Stop::bound, Stop::first}) {
    for (const int64_t beam : {1, 2, 5}) {
      Search search({models[0]}, {.beam = beam, .n_best = beam, .stop = stop});
      const auto results = search_all(search, requests);
      Engine engine(models[0]);
      for (size_t i = 0; i < requests.size(); ++i) {
        ASSERT_FALSE(results[i].empty());
        for (const auto& h : results[i]) {
          const Pair pair = {requests[i].source, h.tokens};
          EXPECT_EQ(score({&engine, 1}, {&pair, 1})[0], h.log_probabilities);
          if (!requests[i].phrases) continue;
          for (const auto& phrase : requests[i].phrases->phrases()) {
            EXPECT_TRUE(contains(h.tokens, phrase)) << i;
          }
        }
      }
    }
  }
}

TEST(SearchForPhrases, IsTheSameInAnyCompany) {
  const auto [requests, models] = constrained();
  Search together(models, {.beam = 4, .n_best = 4});
  const auto results = search_all(together, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    Search alone(models, {.beam = 4, .n_best = 4});
    const auto own = search_all(alone, {requests[i]})[0];
    ASSERT_EQ(own.size(), results[i].size());
    for (size_t rank = 0; rank < own.size(); ++rank) {
      EXPECT_EQ(own[rank].tokens, results[i][rank].tokens);
      EXPECT_EQ(own[rank].score, results[i][rank].score);
    }
  }
}

// What the model says anyway costs nothing to ask for.
TEST(SearchForPhrases, LeavesATranslationAloneThatHasThem) {
  const auto model = random_model(small_config()).weights();
  for (uint64_t i = 0; i < 8; ++i) {
    Request request{.source = random_sentence(i, 6)};
    const SearchOptions greedy = {.beam = 1, .max_length_factor = 0, .max_length_offset = 9};
    Search free({model}, greedy), bound({model}, greedy);
    const Hypothesis best = search_all(free, {request})[0][0];
    if (best.tokens.size() < 4) continue;
    request.phrases = std::make_shared<Phrases>(
        std::vector<Tokens>{Tokens(best.tokens.begin(), best.tokens.begin() + 2)});
    EXPECT_EQ(search_all(bound, {request})[0][0].tokens, best.tokens);
  }
}

// With a beam that keeps everything, the best of all translations with the phrase is found.
TEST(SearchForPhrases, FindsTheBestOfAllIfTheBeamIsWide) {
  model::Config config = small_config();
  config.source_vocabulary = config.target_vocabulary = 7;
  const auto model = random_model(config).weights();
  const Tokens source = {4, 6, 5, 2};
  const SearchOptions options = {
      .beam = 60, .n_best = 1, .max_length_factor = 0, .max_length_offset = 3, .stop = Stop::bound};
  const Tokens phrase = {6, 5};
  Engine engine(model);
  double best = -1e9;
  std::function<void(Tokens)> visit = [&](Tokens tokens) {
    if (contains(tokens, phrase)) {
      Tokens ended = tokens;
      ended.push_back(2);
      const Pair pair = {source, ended};
      const auto parts = score({&engine, 1}, {&pair, 1})[0];
      best = std::max(best, normalised(options, std::accumulate(parts.begin(), parts.end(), 0.0),
                                       static_cast<int64_t>(ended.size())));
    }
    if (tokens.size() == 3) return;
    for (const int32_t token : {0, 3, 4, 5, 6}) {
      tokens.push_back(token);
      visit(tokens);
      tokens.pop_back();
    }
  };
  visit({});
  Search search({model}, options);
  const Request request = {.source = source,
                           .phrases = std::make_shared<Phrases>(std::vector<Tokens>{phrase})};
  EXPECT_NEAR(search_all(search, {request})[0][0].score, best, 1e-6);
}

// Three hypotheses with none, one and two tokens of the phrase, all of which end.
class KeepMostPhrases : public testing::Test {
 protected:
  KeepMostPhrases() {
    sentence_.request.phrases = std::make_shared<Phrases>(std::vector<Tokens>{{7, 8, 9}});
    for (const Tokens& tokens : {Tokens{}, Tokens{7}, Tokens{7, 8}}) {
      Phrases::Progress progress;
      for (const int32_t token : tokens) {
        progress = sentence_.request.phrases->after(progress, token);
      }
      sentence_.live.push_back({.node = 0, .lane = 0, .phrases = progress});
    }
  }
  std::vector<int> parents_kept(const std::vector<int>& parents) const {
    Candidates candidates;
    for (const int parent : parents) candidates.push_back({.score = 0, .parent = parent});
    keep_most_phrases(sentence_, candidates);
    std::vector<int> kept;
    for (const auto& candidate : candidates) kept.push_back(candidate.parent);
    return kept;
  }

  Sentence sentence_;
};

TEST_F(KeepMostPhrases, LeavesTheHypothesesWithTheMostTokens) {
  EXPECT_THAT(parents_kept({0, 2, 1, 2}), ElementsAre(2, 2));
  EXPECT_THAT(parents_kept({1, 0}), ElementsAre(1));
}

TEST_F(KeepMostPhrases, LeavesNoneThatLacksSomeOnceOneWithAllHasEnded) {
  sentence_.finished.emplace_back();
  EXPECT_THAT(parents_kept({0, 2, 1}), IsEmpty());
  sentence_.live[1].phrases = sentence_.request.phrases->after(sentence_.live[2].phrases, 9);
  EXPECT_THAT(parents_kept({0, 2, 1}), ElementsAre(1));
}

}  // namespace
}  // namespace residual::decode
