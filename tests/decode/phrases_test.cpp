#include "decode/rules/phrases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "decode/score.h"
#include "decode/search.h"
#include "decode/terminology.h"
#include "support/models.h"
#include "support/sentences.h"
#include "support/temporary.h"

namespace residual::decode {
namespace {

using test::random_model;
using test::random_sentence;
using test::small_config;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Tokens = std::vector<int32_t>;

bool contains(const Tokens& tokens, const Tokens& phrase) {
  return !std::ranges::search(tokens, phrase).empty();
}

Phrases::Progress after(const Phrases& phrases, const Tokens& tokens) {
  Phrases::Progress progress;
  for (const int32_t token : tokens) progress = phrases.after(progress, token);
  return progress;
}

Tokens next(const Phrases& phrases, const Tokens& tokens) {
  Tokens all;
  phrases.append_next(after(phrases, tokens), all);
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

TEST(Phrases, AreCountedAsTheirTokensCome) {
  const Phrases phrases({{7, 8, 9}, {7, 5}, {4}});
  const auto count = [&](const Tokens& tokens) { return phrases.tokens(after(phrases, tokens)); };
  EXPECT_EQ(phrases.tokens(), 6);
  EXPECT_EQ(count({6}), 0);
  EXPECT_EQ(count({7}), 1);
  EXPECT_EQ(count({7, 8}), 2);
  EXPECT_EQ(count({7, 8, 6}), 0);     // what was begun is lost
  EXPECT_EQ(count({7, 8, 7}), 1);     // and may begin anew at once
  EXPECT_EQ(count({7, 8, 7, 5}), 2);  // with another phrase
  EXPECT_EQ(count({7, 8, 9, 6}), 3);  // what is met stays
  EXPECT_EQ(count({7, 8, 9, 7}), 4);
  EXPECT_EQ(count({4, 4}), 1);  // once is enough
  EXPECT_FALSE(phrases.are_met(after(phrases, {7, 8, 9, 4, 7})));
  EXPECT_TRUE(phrases.are_met(after(phrases, {7, 8, 9, 4, 7, 5, 6})));
  EXPECT_THAT(next(phrases, {}), ElementsAre(4, 7));
  EXPECT_THAT(next(phrases, {7}), ElementsAre(4, 5, 7, 8));
  EXPECT_THAT(next(phrases, {4, 7, 8}), ElementsAre(7, 9));
  EXPECT_THAT(next(phrases, {7, 8, 9, 4, 7, 5}), IsEmpty());
}

// Random phrases of few symbols, which often overlap themselves and each other.
TEST(Phrases, AreMetExactlyByWhatContainsThem) {
  const Random random(3);
  uint64_t at = 0;
  const auto draw = [&](uint64_t length) {
    Tokens tokens;
    for (uint64_t i = 0; i < length; ++i) {
      tokens.push_back(static_cast<int32_t>(4 + random.below(at++, 2)));
    }
    return tokens;
  };
  int met = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<Tokens> wanted;
    for (int i = 0; i < 1 + round % 3; ++i) wanted.push_back(draw(1 + random.below(at++, 4)));
    const Tokens tokens = draw(random.below(at++, 20));
    const Phrases phrases(wanted);
    const bool has_all =
        std::ranges::all_of(wanted, [&](const Tokens& phrase) { return contains(tokens, phrase); });
    const auto progress = after(phrases, tokens);
    EXPECT_EQ(phrases.are_met(progress), has_all);
    EXPECT_EQ(phrases.tokens(progress) == phrases.tokens(), has_all);
    met += has_all ? 1 : 0;
  }
  EXPECT_GT(met, 100);
  EXPECT_LT(met, 400);
}

TEST(Phrases, ArePlacedAtWords) {
  const auto bpe = text::Vocabulary::parse("Haus 1\nReihen@@ 1\nrot 1\n", "dictionary");  // 4, 5, 6
  const Phrases house({{4}}, std::make_shared<Joints>(bpe));
  EXPECT_TRUE(house.are_met(after(house, {6, 4})));
  EXPECT_FALSE(house.are_met(after(house, {5, 4})));
  EXPECT_THAT(next(house, {6}), ElementsAre(4));
  EXPECT_THAT(next(house, {5}), IsEmpty());

  const auto pieces =
      text::Vocabulary::parse("\u2581Haus 1\nboot 1\n. 1\n\u2581rot 1\n", "dictionary");  // 4 to 7
  const Phrases boat({{4}}, std::make_shared<Joints>(pieces));
  EXPECT_TRUE(boat.are_met(after(boat, {7, 4})));
  EXPECT_TRUE(boat.are_met(after(boat, {4, 6})));
  EXPECT_TRUE(boat.are_met(after(boat, {4, 7})));
  EXPECT_FALSE(boat.are_met(after(boat, {4, 5})));
  EXPECT_TRUE(boat.are_met(after(boat, {4, 5, 4})));
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

TEST(SearchForPhrases, RefusesWhatNoTranslationCanContain) {
  const auto model = random_model(small_config()).weights();
  const auto error_of = [&](std::vector<Tokens> phrases) -> std::string {
    const Request request = {.source = {5, 2},
                             .phrases = std::make_shared<Phrases>(std::move(phrases))};
    try {
      check_request(request, model->config());
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(error_of({{5, 6}}), "");
  EXPECT_THAT(error_of({{5, 2}}), HasSubstr("stands for no text"));
  EXPECT_THAT(error_of({{5, 1000}}), HasSubstr("is not in the vocabulary"));
  EXPECT_THAT(error_of({Tokens(small_config().max_positions, 5)}), HasSubstr("takes up to"));
  EXPECT_THROW(Phrases(std::vector<Tokens>{{}}), Error);
  EXPECT_THROW(Phrases(std::vector<Tokens>(65, {5})), Error);
}

TEST(Terminology, FindsWholeWordsTheLongestFirst) {
  const Terminology terms({{"new york", "Neu-York"},
                           {"new york city", "Stadt New York"},
                           {"bank", "Ufer"},
                           {"US", "USA"},
                           {".net", "Dotnet"},
                           {"été", "Sommer"},
                           {"\u4e2d\u56fd", "China"}});
  EXPECT_THAT(terms.in("He saw New York City, then new york."),
              ElementsAre("Stadt New York", "Neu-York"));
  EXPECT_THAT(terms.in("banks, embankment, bank1, us, bank\u0301, new york\u093c"), IsEmpty());
  EXPECT_THAT(terms.in("\"Bank\"-bank"), ElementsAre("Ufer"));
  EXPECT_THAT(terms.in("the US uses .NET"), ElementsAre("USA", "Dotnet"));
  EXPECT_THAT(terms.in("\u00c9T\u00c9"), ElementsAre("Sommer"));
  EXPECT_THAT(terms.in("\u5728\u4e2d\u56fd\u7684"), ElementsAre("China"));
  EXPECT_THAT(terms.in(""), IsEmpty());
  EXPECT_THAT(Terminology().in("bank"), IsEmpty());
  EXPECT_THAT(Terminology({{"us", "uns"}, {"US", "USA"}, {"us", "uns"}}).in("US us Us"),
              ElementsAre("USA", "uns"));
}

TEST(Terminology, IsReadFromLinesWithATab) {
  const test::TemporaryDirectory directory;
  const auto read = [&](const std::string& lines) -> std::string {
    replace_file(directory / "terms.tsv", lines);
    try {
      const auto found = Terminology::read(directory / "terms.tsv").in("a house and a tree");
      return std::accumulate(found.begin(), found.end(), std::string());
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(read("\xEF\xBB\xBFtree\tBaum\r\n\nhouse \t Haus\n"), "HausBaum");
  EXPECT_THAT(read("house\tHaus\ntree Baum\n"), HasSubstr("terms.tsv:2: expected"));
  EXPECT_THAT(read("house\t\n"), HasSubstr("terms.tsv:1: expected"));
  EXPECT_THAT(read("house\tHaus\tHeim\n"), HasSubstr("terms.tsv:1: expected"));
  EXPECT_THAT(read("\n"), HasSubstr("has no term"));
  EXPECT_EQ(read("house\tHaus\ntree\tBaum\nhouse \tHaus\n"), "HausBaum");
  EXPECT_THAT(read("\nhouse\tHaus\nHouse\tHeim\nhouse\tHeim\n"),
              AllOf(HasSubstr("terms.tsv:4: \"house\" is called \"Heim\", but \"Haus\" at "),
                    HasSubstr("terms.tsv:2; leave one of them out")));
  EXPECT_THROW(Terminology(std::vector<Term>{{"US", "USA"}, {"US", "uns"}}), Error);
  EXPECT_THROW(Terminology(std::vector<Term>{{"house", " "}}), Error);
  EXPECT_THROW(Terminology(std::vector<Term>{{std::string(201, 'a'), "b"}}), Error);
}

}  // namespace
}  // namespace residual::decode
