#include "decode/rules/choose.h"

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

using test::random_requests;
using test::search_with;

TEST(Chooser, GivesTheBestOfWhatIsAllowedHoweverMuchIsForbidden) {
  std::vector<float> logits(300);
  for (int i = 0; i < 300; ++i)
    logits[i] = static_cast<float>(i % 7) - 0.01F * static_cast<float>(i);
  Chooser chooser(300, 0);
  for (const int count : {1, 50, 250}) {
    std::vector<int32_t> forbidden(count);
    std::iota(forbidden.begin(), forbidden.end(), 6);
    auto row = logits;
    const auto got = chooser.likeliest(row.data(), 5, forbidden);
    std::vector<int32_t> allowed;
    for (int32_t i = 0; i < 300; ++i) {
      if (std::ranges::count(forbidden, i) == 0) allowed.push_back(i);
    }
    std::ranges::stable_sort(allowed, std::greater<>(), [&](int32_t i) { return logits[i]; });
    const float normaliser = kernels::log_sum_exp(logits.data(), 300);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(got[i].token, allowed[i]);
      EXPECT_EQ(got[i].log_probability, logits[allowed[i]] - normaliser);
    }
  }
}

TEST(Chooser, TakesThePenaltyOfUnkIntoAccount) {
  std::vector<float> logits = {0, 0, 1, 3, 2, 1.5};
  Chooser chooser(6, 1.25);
  const auto got = chooser.likeliest(logits.data(), 2, {});
  EXPECT_EQ(got[0].token, 4);
  EXPECT_EQ(got[1].token, text::Vocabulary::kUnk);
}

TEST(Chooser, FindsUnkFarBehindIfItsPenaltyIsNegative) {
  constexpr int32_t kUnk = text::Vocabulary::kUnk;
  std::vector<float> logits(300);
  std::iota(logits.begin(), logits.end(), 0.0F);
  const float probability = logits[kUnk] - kernels::log_sum_exp(logits.data(), 300);
  Chooser chooser(300, -1000);
  const auto got = chooser.likeliest(logits.data(), 2, {});
  EXPECT_EQ(got[0].token, kUnk);
  EXPECT_EQ(got[0].log_probability, probability + 1000);
  EXPECT_EQ(got[1].token, 299);
  EXPECT_EQ(chooser.given(logits.data(), kUnk).log_probability, probability + 1000);
  const TokenChoice drawn = Sampler(300).draw(logits.data(), {.is_on = true}, {}, -1000, 0.5);
  EXPECT_EQ(drawn.token, kUnk);
  EXPECT_EQ(drawn.log_probability, probability + 1000);

  const SearchOptions options = {.beam = 2, .unk_penalty = -1000};
  for (const auto& result : search_with(options, random_requests(3))) {
    EXPECT_EQ(result[0].tokens[0], kUnk);
  }
}

}  // namespace
}  // namespace residual::decode
