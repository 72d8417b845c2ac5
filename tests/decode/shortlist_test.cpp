#include "decode/shortlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "decode/score.h"
#include "decode/search.h"
#include "support/error_of.h"
#include "support/models.h"
#include "support/sentences.h"
#include "support/temporary.h"

namespace residual::decode {
namespace {

using test::random_model;
using test::random_sentence;
using test::small_config;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using text::Vocabulary;

class ShortlistFile : public testing::Test {
 protected:
  Shortlist read(const std::string& lines, ShortlistOptions options, const Vocabulary& target) {
    options.file = directory_ / "lex";
    replace_file(options.file, lines);
    return {options, source_, target};
  }
  std::string error_of(const std::string& lines) {
    return residual::test::error_of([&] { read(lines, {}, target_); });
  }

  test::TemporaryDirectory directory_;
  // Ids from 4 on.
  Vocabulary source_ = Vocabulary::parse("the 9\nhouse 5\nred 3\n", "source");
  Vocabulary target_ = Vocabulary::parse("das 9\nHaus 5\nrot 3\nrote 2\nHeim 1\nTor 1\n", "target");
  // Marian's order, and no order of probabilities. Two lines have symbols that nobody knows.
  const std::string lines_ =
      "Heim house 0.1\nHaus house 0.7\ndas the 0.9\nrot red 0.4\nrote\tred 5e-1\n"
      "NULL red 0.1\nTor gate 1\n";
};

TEST_F(ShortlistFile, GivesFrequentSymbolsAndTheLikeliestOfEachOther) {
  const auto all = read(lines_, {.frequent = 0, .best = 9}, target_);
  EXPECT_THAT(all.symbols(std::vector<int32_t>{5, 2}, {}), ElementsAre(0, 1, 2, 3, 5, 8));
  EXPECT_THAT(all.symbols(std::vector<int32_t>{5, 6, 2}, {}), ElementsAre(0, 1, 2, 3, 5, 6, 7, 8));
  const auto few = read(lines_, {.frequent = 1, .best = 1}, target_);
  EXPECT_THAT(few.symbols(std::vector<int32_t>{6, 5, 6, 2}, {}), ElementsAre(0, 1, 2, 3, 4, 5, 7));
  EXPECT_THAT(few.symbols(std::vector<int32_t>{2}, std::vector<int32_t>{9, 6}),
              ElementsAre(0, 1, 2, 3, 4, 6, 9));
  const auto every = read(lines_, {.frequent = 1000}, target_);
  EXPECT_EQ(every.symbols(std::vector<int32_t>{2}, {}).size(), 10u);
}

TEST_F(ShortlistFile, MayCopyTheSourceWhereVocabulariesAreOne) {
  const auto joined = read("red house 0.5\nthe the 1\n", {.frequent = 0}, source_);
  EXPECT_THAT(joined.symbols(std::vector<int32_t>{5, 2}, {}), ElementsAre(0, 1, 2, 3, 5, 6));
}

TEST_F(ShortlistFile, OfAnotherKindIsRefused) {
  EXPECT_EQ(error_of(lines_), "");
  for (const std::string bad : {"das the", "das the x", "das the 0.5 more", "das the nan", ""}) {
    EXPECT_THAT(error_of("das the 1\n" + bad + "\n"), HasSubstr("lex:2: expected")) << bad;
  }
  EXPECT_THAT(error_of("the das 0.5\nhouse Haus 0.5\n"), HasSubstr("of 0 of 2 lines"));
  EXPECT_THAT(error_of(""), HasSubstr("is empty"));
}

// Log-probabilities of a target's tokens as if there were no other symbols.
std::vector<double> among(const std::vector<int32_t>& symbols, Engine& engine, const Pair& pair) {
  const auto logits = forced_logits(engine, pair);
  const auto vocabulary = static_cast<size_t>(engine.weights().config().target_vocabulary);
  std::vector<double> all;
  for (size_t t = 0; t < pair.target.size(); ++t) {
    double sum = 0;
    for (const int32_t symbol : symbols) sum += std::exp(double{logits[t * vocabulary + symbol]});
    all.push_back(logits[t * vocabulary + pair.target[t]] - std::log(sum));
  }
  return all;
}

struct Case {
  std::vector<Request> requests;
  std::shared_ptr<const Weights> model;
};

// Models with every kind of output matrix, and sentences that have symbols of their own but for
// every third.
std::vector<Case> cases() {
  std::vector<Case> all;
  model::Config screened = small_config();
  screened.width = 48;
  for (const auto precision : {Precision::float32, Precision::float16, Precision::int8}) {
    all.push_back({{}, random_model(small_config()).weights(precision)});
  }
  all.push_back({{}, random_model(screened).weights()});
  EXPECT_TRUE(all.back().model->output_layer().has_screen());
  for (auto& each : all) {
    for (uint64_t i = 0; i < 9; ++i) {
      Request request{.source = random_sentence(i, Random(9).below(i, 15))};
      if (i % 3 != 0) {
        for (int32_t id = 0; id < 50; ++id) {
          if (id < 4 || Random(i).uniform(id) < 0.4) request.symbols.push_back(id);
        }
      }
      if (i == 4) request.prefix = {request.symbols[5], request.symbols[7]};
      each.requests.push_back(request);
    }
  }
  return all;
}

TEST(SomeSymbols, AreAllThatTheSearchKnows) {
  for (const auto& [requests, model] : cases()) {
    Engine engine(model);
    Search search({model}, {.beam = 4, .n_best = 4});
    const auto results = search_all(search, requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].symbols.empty()) continue;
      for (const auto& h : results[i]) {
        EXPECT_THAT(h.tokens, Each(testing::AnyOfArray(requests[i].symbols)));
        const auto expected = among(requests[i].symbols, engine, {requests[i].source, h.tokens});
        for (size_t t = 0; t < expected.size(); ++t) {
          EXPECT_NEAR(h.log_probabilities[t], expected[t], 1e-5);
        }
      }
    }
  }
}

TEST(SomeSymbols, AreForEveryBeamThereIs) {
  Request request{.source = random_sentence(1, 9), .symbols = {0, 1, 2, 3, 7, 8, 9}};
  Search search({random_model(small_config()).weights()}, {.beam = kWidestBeam});
  EXPECT_THAT(search_all(search, {request})[0][0].tokens,
              Each(testing::AnyOfArray(request.symbols)));
  EXPECT_NO_THROW(check_shortlist({}, 1));
  EXPECT_THROW(check_shortlist({}, 2), Error);
  EXPECT_THROW(check_shortlist({.no_repeat_ngram = 2}, 1), Error);
  EXPECT_THROW(check_shortlist({.repetition_penalty = 1.1}, 1), Error);
  EXPECT_NO_THROW(check_shortlist({.coverage_penalty = 0.1}, 1));
  EXPECT_THROW(check_shortlist({.unk_penalty = -1}, 1), Error);
  EXPECT_THROW(check_shortlist({.sampling = {.is_on = true}}, 1), Error);
}

TEST(SomeSymbols, MakeASentenceDependOnNoOther) {
  for (const auto& [requests, model] : cases()) {
    Search search({model}, {.beam = 4, .n_best = 4});
    const auto together = search_all(search, requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      const auto alone = search_all(search, {requests[i]});
      ASSERT_EQ(alone[0].size(), together[i].size());
      for (size_t h = 0; h < alone[0].size(); ++h) {
        EXPECT_EQ(alone[0][h].tokens, together[i][h].tokens);
        EXPECT_EQ(alone[0][h].log_probabilities, together[i][h].log_probabilities);
      }
    }
  }
}

TEST(SomeSymbols, IfTheyAreAllChangeNothing) {
  for (const auto& [given, model] : cases()) {
    Search search({model}, {.beam = 4});
    std::vector<Request> requests = given;
    for (auto& request : requests) request.symbols.clear();
    const auto expected = search_all(search, requests);
    for (auto& request : requests) {
      request.symbols.resize(50);
      std::iota(request.symbols.begin(), request.symbols.end(), 0);
    }
    const auto results = search_all(search, requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(results[i][0].tokens, expected[i][0].tokens);
      EXPECT_NEAR(results[i][0].score, expected[i][0].score, 1e-5);
    }
  }
}

TEST(SomeSymbols, MustBeInOrderAndEndTheSentence) {
  const model::Config config = small_config();
  const auto error_of = [&](const Request& request) -> std::string {
    try {
      check_request(request, config);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(error_of({.source = {5, 2}, .symbols = {2, 7, 9}}), "");
  EXPECT_THAT(error_of({.source = {5, 2}, .symbols = {2, 7, 7}}), HasSubstr("ascending"));
  EXPECT_THAT(error_of({.source = {5, 2}, .symbols = {2, 50}}), HasSubstr("id 50 is not in"));
  EXPECT_THAT(error_of({.source = {5, 2}, .symbols = {3, 7}}), HasSubstr("</s> or a prefix"));
  EXPECT_THAT(error_of({.source = {5, 2}, .prefix = {8}, .symbols = {2, 7}}),
              HasSubstr("</s> or a prefix"));
}

}  // namespace
}  // namespace residual::decode
