#include "decode/rules/phrases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "decode/request.h"
#include "support/models.h"

namespace residual::decode {
namespace {

using test::small_config;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
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

TEST(Phrases, ThatNoTranslationCanContainAreRefused) {
  const auto error_of = [&](std::vector<Tokens> phrases) -> std::string {
    const Request request = {.source = {5, 2},
                             .phrases = std::make_shared<Phrases>(std::move(phrases))};
    try {
      check_request(request, small_config());
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

}  // namespace
}  // namespace residual::decode
