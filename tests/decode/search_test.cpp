#include "decode/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "decode/crew.h"
#include "decode/score.h"
#include "support/models.h"
#include "support/searches.h"
#include "support/sentences.h"

namespace residual::decode {
namespace {

using test::models_of_each_kind;
using test::random_model;
using test::random_requests;
using test::random_sentence;
using test::same;
using test::search_with;
using test::small_config;
using test::small_model;
using testing::Each;
using testing::SizeIs;

bool alike(const std::vector<Hypothesis>& a, const std::vector<Hypothesis>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.tokens == y.tokens && std::abs(x.score - y.score) < 1e-5;
  });
}

// Options that need whole rows of logits must not change what the others find.
TEST(Search, FindsTheSameFromSummariesAndFromWholeRows) {
  for (const auto& model : models_of_each_kind()) {
    auto requests = random_requests(12);
    requests[3].prefix = {7, 9};
    SearchOptions options = {.beam = 5, .n_best = 5, .min_length = 3, .unk_penalty = 0.5};
    const auto summarised = search_with(options, requests, model);
    options.no_repeat_ngram = 1000;  // forbids nothing
    const auto whole = search_with(options, requests, model);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_TRUE(model->output_layer().has_screen() ? alike(summarised[i], whole[i])
                                                     : same(summarised[i], whole[i]))
          << i;
    }
  }
}

// The promise that a translation does not depend on its company: random batches, sentences that
// come in the middle of others' search.
void expect_the_same_in_any_company(const std::shared_ptr<const Weights>& model,
                                    const SearchOptions& options,
                                    const std::vector<Request>& requests) {
  std::vector<std::vector<Hypothesis>> alone;
  for (const auto& request : requests) {
    const SearchOptions& own = request.search ? *request.search : options;
    alone.push_back(
        search_with(own, {{.source = request.source, .prefix = request.prefix}}, model)[0]);
  }
  for (uint64_t round = 0; round < 6; ++round) {
    std::vector<size_t> order(requests.size());
    std::iota(order.begin(), order.end(), 0);
    Random(round).shuffle(std::span(order));
    Search search({model}, options);
    size_t next = 0, ended = 0;
    for (uint64_t step = 0; ended < requests.size(); ++step) {
      std::vector<Request> batch;
      for (auto n = Random(round, 1).below(step, 4); n > 0 && next < order.size(); --n) {
        batch.push_back(requests[order[next]]);
        batch.back().id = order[next++];
      }
      if (!batch.empty()) search.add(std::move(batch));
      search.step([&](uint64_t id, const std::vector<Hypothesis>& got) {
        EXPECT_TRUE(same(got, alone[id])) << id;
        ++ended;
      });
    }
  }
}

TEST(Search, GivesTheSameBitsInAnyCompany) {
  for (const auto& model : models_of_each_kind()) {
    expect_the_same_in_any_company(model, {.beam = 3, .n_best = 3, .with_attention = true},
                                   random_requests(24));
  }
}

TEST(Search, GivesEachSentenceItsOwnSearchInAnyCompany) {
  const std::vector<SearchOptions> searches = {
      {.beam = 1},
      {.beam = 6, .n_best = 4, .length_penalty = 0.3, .min_length = 4},
      {.beam = 2, .n_best = 2, .no_repeat_ngram = 2, .with_attention = true},
      {.beam = 4, .n_best = 3, .sampling = {.is_on = true, .temperature = 0.7, .seed = 5}},
      {.beam = 3, .max_length_factor = 0, .max_length_offset = 5, .stop = Stop::first},
      {.beam = 5, .n_best = 5, .unk_penalty = -3},
      {.beam = 3, .n_best = 2, .repetition_penalty = 1.4, .coverage_penalty = 0.3},
      {.beam = 4, .n_best = 4, .diverse_groups = 2, .diverse_strength = 1},
      {.beam = 4, .n_best = 2, .alternatives = true},
      {.beam = 30, .n_best = 20, .stop = Stop::bound, .unk_penalty = 2}};
  for (const auto& model : models_of_each_kind()) {
    auto requests = random_requests(24);
    requests[5].prefix = requests[6].prefix = {8, 9, 10};
    for (size_t i = 0; i < requests.size(); ++i) {
      const size_t own = i % (searches.size() + 1);
      if (own < searches.size()) {
        requests[i].search = std::make_shared<const SearchOptions>(searches[own]);
      }
    }
    expect_the_same_in_any_company(model, {.beam = 3, .n_best = 3}, requests);
  }
}

TEST(Search, GivesTheSameBitsEachTimeItBegins) {
  Search search({small_model()}, {.beam = 3, .n_best = 3, .with_attention = true});
  const auto first = search_all(search, random_requests(6));
  const auto second = search_all(search, random_requests(6));
  for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(same(first[i], second[i])) << i;
}

TEST(Search, DropsWhatIsNoLongerWanted) {
  auto requests = random_requests(6);
  const auto all = search_with({.n_best = 5}, requests);
  const auto unwanted = std::make_shared<std::atomic<bool>>(false);
  for (size_t i = 0; i < requests.size(); ++i) requests[i].id = i;
  requests[1].unwanted = requests[4].unwanted = unwanted;
  Search search({small_model()}, {.n_best = 5});
  search.add(requests);
  size_t ended = 0;
  const auto check = [&](uint64_t id, const std::vector<Hypothesis>& got) {
    EXPECT_TRUE(requests[id].unwanted ? got.empty() : same(got, all[id])) << id;
    ++ended;
  };
  search.step(check);
  *unwanted = true;
  search.step(check);
  EXPECT_EQ(ended, 2U);
  while (search.sentences() > 0) search.step(check);
  EXPECT_EQ(ended, 6U);
}

TEST(Crew, GivesTheSameBitsWhateverItsThreadsAndBatches) {
  model::Config config = small_config();
  config.width = 192;  // enough work for a team to share
  config.heads = 4;
  config.inner = 500;
  const auto model = random_model(config).weights();
  const SearchOptions options = {.beam = 3, .n_best = 2};
  const auto requests = random_requests(30);
  std::vector<std::vector<Hypothesis>> alone = search_with(options, requests, model);
  for (const int threads : {1, 2, 4}) {
    for (const int batch : {1, 5, 64}) {
      std::vector<std::vector<Hypothesis>> got(requests.size());
      std::atomic<size_t> missing = requests.size();
      Crew crew({model}, options, {.threads = threads, .batch_sentences = batch});
      for (size_t i = 0; i < requests.size(); ++i) {
        crew.submit(requests[i], [&, i](Crew::Outcome outcome) {
          got[i] = std::move(outcome.hypotheses);
          if (--missing == 0) missing.notify_all();
        });
      }
      for (size_t left = missing; left > 0; left = missing) missing.wait(left);
      for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same(got[i], alone[i])) << i;
    }
  }
}

TEST(Crew, ReportsWhatCannotBeTranslated) {
  Crew crew({small_model()}, {}, {.threads = 1});
  const auto ignore = [](const Crew::Outcome&) {};
  EXPECT_THROW(crew.submit({.source = {}}, ignore), Error);
  EXPECT_THROW(crew.submit({.source = {50, 2}}, ignore), Error);
  EXPECT_THROW(crew.submit({.source = {-1, 2}}, ignore), Error);
  EXPECT_THROW(crew.submit({.source = random_sentence(1, 64)}, ignore), Error);
  EXPECT_THROW(crew.submit({.source = {5, 2}, .prefix = {2}}, ignore), Error);
  const auto wide = std::make_shared<const SearchOptions>(SearchOptions{.beam = 1000});
  EXPECT_THROW(crew.submit({.source = {5, 2}, .search = wide}, ignore), Error);
}

TEST(Crew, FailsWhatIsNoLongerWantedAndOnlyThat) {
  const auto unwanted = std::make_shared<const std::atomic<bool>>(true);
  Crew crew({small_model()}, {}, {.threads = 2});
  auto requests = random_requests(20);
  std::atomic<size_t> missing = requests.size();
  for (size_t i = 0; i < requests.size(); ++i) {
    const bool is_wanted = i % 3 != 0;
    if (!is_wanted) requests[i].unwanted = unwanted;
    crew.submit(requests[i], [&, is_wanted](const Crew::Outcome& outcome) {
      EXPECT_EQ(outcome.error == nullptr, is_wanted);
      if (--missing == 0) missing.notify_all();
    });
  }
  for (size_t left = missing; left > 0; left = missing) missing.wait(left);
}

TEST(Crew, TakesBeamsOfAnyWidthTogether) {
  const auto model = small_model();
  auto requests = random_requests(30);
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto beam = static_cast<int64_t>(1 + i * 7 % 62);
    requests[i].search = std::make_shared<const SearchOptions>(SearchOptions{.beam = beam});
  }
  Crew crew({model}, {.beam = 2}, {.threads = 2, .batch_sentences = 3});
  std::atomic<size_t> missing = requests.size();
  for (const auto& request : requests) {
    const auto alone = search_with(*request.search, {{.source = request.source}}, model)[0];
    crew.submit(request, [&, alone](const Crew::Outcome& outcome) {
      EXPECT_TRUE(same(outcome.hypotheses, alone));
      if (--missing == 0) missing.notify_all();
    });
  }
  for (size_t left = missing; left > 0; left = missing) missing.wait(left);
}

TEST(Crew, ReportsAModelThatGivesNoNumbers) {
  for (const int width : {24, 48}) {
    model::Config config = small_config();
    config.width = width;
    for (const std::string name :
         {"decoder.layers.0.feed_forward.outer.bias", "embedding.weight"}) {
      auto values = random_model(config);
      values.values.at(name).back() = std::nanf("");
      Crew crew({values.weights()}, {}, {.threads = 1});
      std::atomic<bool> is_done = false;
      crew.submit({.source = {5, 2}}, [&](const Crew::Outcome& outcome) {
        EXPECT_TRUE(outcome.error) << width << ' ' << name;
        is_done = true;
        is_done.notify_all();
      });
      is_done.wait(false);
    }
  }
}

TEST(Crew, AFailureIsThatOfItsSentenceAlone) {
  const int32_t bad = 17;  // whoever has this symbol in his source gets no numbers
  model::Config config = small_config();
  config.sharing = model::Sharing::target;
  auto broken = random_model(config);
  broken.values.at(model::source_embedding(config)).at(bad * config.width) = std::nanf("");
  auto requests = random_requests(12);
  for (size_t i = 0; i < requests.size(); ++i) {
    std::ranges::replace(requests[i].source, bad, 18);
    if (i == 5) requests[i].source.front() = bad;
  }
  Crew crew({broken.weights()}, {}, {.threads = 1});
  std::atomic<size_t> missing = requests.size();
  for (size_t i = 0; i < requests.size(); ++i) {
    crew.submit(requests[i], [&, i](const Crew::Outcome& outcome) {
      EXPECT_EQ(outcome.error != nullptr, i == 5) << i;
      if (--missing == 0) missing.notify_all();
    });
  }
  for (size_t left = missing; left > 0; left = missing) missing.wait(left);
}

TEST(Search, KeepsToTheLengthsAsked) {
  const auto requests = random_requests(6);
  for (const auto& result : search_with({.min_length = 7, .max_length_factor = 0}, requests)) {
    EXPECT_GE(result[0].tokens.size(), 8U);
    EXPECT_LE(result[0].tokens.size(), 11U);
  }
  const SearchOptions exact = {.min_length = 5, .max_length_factor = 0, .max_length_offset = 5};
  for (const auto& result : search_with(exact, requests)) EXPECT_EQ(result[0].tokens.size(), 6U);
}

TEST(Search, RepeatsNoNGramAndGivesNoUnkWhenForbidden) {
  const SearchOptions options = {
      .min_length = 25, .max_length_offset = 30, .no_repeat_ngram = 2, .forbid_unk = true};
  for (const auto& result : search_with(options, random_requests(6))) {
    const auto& tokens = result[0].tokens;
    std::set<std::pair<int32_t, int32_t>> seen;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      EXPECT_NE(tokens[i], text::Vocabulary::kUnk);
      EXPECT_TRUE(seen.insert({tokens[i], tokens[i + 1]}).second) << i;
    }
  }
}

// There are 50 symbols: one n-gram of one token each, and the search must go on after them.
TEST(Search, EndsWhereEveryTokenIsForbidden) {
  for (const int64_t beam : {5, 62}) {
    for (const bool is_sampling : {false, true}) {
      const SearchOptions options = {.beam = beam,
                                     .min_length = 55,
                                     .max_length_factor = 0,
                                     .max_length_offset = 60,
                                     .no_repeat_ngram = 1,
                                     .sampling = {.is_on = is_sampling}};
      for (const auto& result : search_with(options, random_requests(3))) {
        ASSERT_EQ(result.size(), 1U);
        EXPECT_LE(result[0].tokens.size(), 50U);
        EXPECT_EQ(result[0].tokens.back(), text::Vocabulary::kEos);
        EXPECT_TRUE(std::isfinite(result[0].score));
      }
    }
  }
}

TEST(Attention, OfEachTokenSumsToOneOverItsSource) {
  const auto requests = random_requests(5);
  for (const int64_t layer : {0, 2}) {
    const SearchOptions options = {
        .beam = 2, .n_best = 2, .with_attention = true, .attention_layer = layer};
    const auto results = search_with(options, requests);
    for (size_t i = 0; i < results.size(); ++i) {
      for (const auto& h : results[i]) {
        ASSERT_EQ(h.attention.size(), h.tokens.size());
        for (const auto& row : h.attention) {
          EXPECT_EQ(row.size(), requests[i].source.size());
          EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 1e-5);
        }
      }
    }
  }
}

TEST(SearchOptions, ThatDoNotFitAreRefused) {
  EXPECT_THROW(check({.beam = 0}), Error);
  EXPECT_THROW(check({.beam = 2, .n_best = 3}), Error);
  EXPECT_THROW(check({.sampling = {.temperature = 0}}), Error);
  EXPECT_THROW(check({.stop = Stop::first, .sampling = {.is_on = true}}), Error);
  EXPECT_THROW(check_sampling({.top_k = 3}), Error);
  EXPECT_NO_THROW(check_sampling({.top_k = 3}, {.top_k = 3}));
  EXPECT_NO_THROW(check_sampling({.is_on = true, .top_k = 3}));
  EXPECT_THROW(check({.length_penalty = std::nan("")}), Error);
  EXPECT_THROW(check({.max_length_offset = std::numeric_limits<double>::infinity()}), Error);
  EXPECT_THROW(Search({small_model()}, {.attention_layer = 3}), Error);
}

}  // namespace
}  // namespace residual::decode
