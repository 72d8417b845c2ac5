#include "decode/rules/outlook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "decode/score.h"
#include "support/searches.h"
#include "text/vocabulary.h"

namespace residual::decode {
namespace {

using test::random_sentence;
using test::small_model;
using testing::Contains;
using testing::Not;
using text::Vocabulary;
using Tokens = std::vector<int32_t>;

const Tokens kSource = random_sentence(3, 7);

// Lets `look` see the first step of a search for one sentence.
void at_first_step(const SearchOptions& options, bool is_summarised, const Tokens& prefix,
                   const std::function<void(Outlook&)>& look) {
  Ensemble models({small_model()});
  HypothesisTree tree;
  Outlook outlook(models, tree);
  Sentence s;
  s.request = {.source = kSource,
               .prefix = prefix,
               .search = std::make_shared<const SearchOptions>(options)};
  s.restrictions = Restrictions(options, /*never_unk=*/false, nullptr);
  s.is_summarised = is_summarised;
  const std::vector<std::span<const int32_t>> sources = {kSource};
  s.memories = models.encode(sources, nullptr)[0];
  const int32_t root = tree.add(HypothesisTree::kNone, Vocabulary::kEos, 0);
  s.live = {{root, 0}};
  const std::vector<Ensemble::Sentence> queries = {{&s.memories, 1, Outlook::query(s)}};
  const Tokens tokens = {Vocabulary::kEos}, positions = {1};
  models.step({.tokens = tokens,
               .positions = positions,
               .slots = &root,
               .slot_stride = 1,
               .slot_count = tree.size()},
              queries, /*attention_from_top=*/-1,
              {.change = [](size_t, int, float*) {},
               .answered =
                   [&](size_t) {
                     outlook.turn_to(s, &root, 1);
                     look(outlook);
                   }},
              nullptr);
}

std::vector<std::pair<int32_t, float>> likeliest(const SearchOptions& options, bool is_summarised) {
  std::vector<std::pair<int32_t, float>> found;
  at_first_step(options, is_summarised, {}, [&](Outlook& outlook) {
    for (const auto& choice : outlook.likeliest(0)) {
      found.emplace_back(choice.token, choice.log_probability);
    }
  });
  return found;
}

TEST(Outlook, OfSummariesIsThatOfWholeRows) {
  for (const SearchOptions& options :
       {SearchOptions{}, SearchOptions{.beam = 1}, SearchOptions{.unk_penalty = 2},
        SearchOptions{.min_length = 0, .forbid_unk = true}}) {
    const auto summarised = likeliest(options, true);
    EXPECT_EQ(summarised.size(), 2 * static_cast<size_t>(options.beam));
    EXPECT_EQ(summarised, likeliest(options, false));
  }
}

TEST(Outlook, GivesTheLogProbabilitiesOfTheModel) {
  Engine engine(small_model());
  for (const int32_t token : {4, 17, 49}) {
    const Pair pair = {kSource, {token, Vocabulary::kEos}};
    const float expected = score({&engine, 1}, {&pair, 1})[0][0];
    for (const bool is_summarised : {false, true}) {
      at_first_step({}, is_summarised, {token}, [&](Outlook& outlook) {
        EXPECT_EQ(outlook.given(0, token).log_probability, expected);
      });
    }
  }
}

TEST(Outlook, AsksSummariesForThePrefixOrElseForTheEnd) {
  at_first_step({.beam = 4}, true, {9}, [](Outlook& outlook) {
    const auto query = Outlook::query(outlook.sentence());
    EXPECT_EQ(query.asked, 9);
    EXPECT_EQ(query.best, 2 * 4 + Chooser::kSpare);
  });
  at_first_step({}, true, {}, [](Outlook& outlook) {
    EXPECT_EQ(Outlook::query(outlook.sentence()).asked, Vocabulary::kEos);
  });
  at_first_step({}, false, {9},
                [](Outlook& outlook) { EXPECT_EQ(Outlook::query(outlook.sentence()).best, 0); });
}

TEST(Outlook, LeavesOutWhatIsForbidden) {
  const auto tokens_of = [](const SearchOptions& options) {
    Tokens tokens;
    for (const auto& [token, log_probability] : likeliest(options, false)) tokens.push_back(token);
    return tokens;
  };
  const SearchOptions wide = {.beam = 25, .min_length = 0};  // all 50 symbols
  EXPECT_THAT(tokens_of(wide), Contains(Vocabulary::kEos));
  EXPECT_THAT(tokens_of(wide), Contains(Vocabulary::kUnk));
  EXPECT_THAT(tokens_of({.beam = 25, .min_length = 1}), Not(Contains(Vocabulary::kEos)));
  EXPECT_THAT(tokens_of({.beam = 25, .forbid_unk = true}), Not(Contains(Vocabulary::kUnk)));
}

TEST(Outlook, LooksAtWantedTokensBesideTheLikeliest) {
  at_first_step({.beam = 1}, false, {}, [](Outlook& outlook) {
    const auto two = outlook.likeliest(0);
    const Tokens best = {two[0].token, two[1].token};
    const int32_t other = best[0] == 30 || best[1] == 30 ? 31 : 30;
    const Tokens also = {best[1], other};
    const auto found = outlook.likeliest(0, also);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[2].token, other);
    EXPECT_EQ(found[2].log_probability, outlook.given(0, other).log_probability);
  });
}

}  // namespace
}  // namespace residual::decode
