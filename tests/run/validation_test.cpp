#include "run/validation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace residual::run {
namespace {

TEST(Validation, CountsThoseWithoutStrictGainAndPrefersTheNewestOfEqualOnes) {
  State state;
  const auto validate = [&](int64_t update, double loss) {
    state.update = update;
    return note_validation(state, ValidationMetric::loss, loss, 2);
  };
  EXPECT_EQ(validate(1, 5), Rank::best);
  EXPECT_EQ(validate(2, 4), Rank::best);
  EXPECT_EQ(state.validations_without_gain, 0);
  EXPECT_EQ(validate(3, 4), Rank::best);  // as good: the newest is the best, but it is no gain
  EXPECT_EQ(state.validations_without_gain, 1);
  EXPECT_EQ(validate(4, 4.5), Rank::none);
  EXPECT_EQ(state.validations_without_gain, 2);
  ASSERT_EQ(state.best.size(), 2u);
  EXPECT_EQ(state.best[0].update, 3);
  EXPECT_EQ(state.best[1].update, 2);
  EXPECT_EQ(validate(5, 3.9), Rank::best);
  EXPECT_EQ(state.validations_without_gain, 0);
  EXPECT_EQ(validate(6, 3.95), Rank::kept);
}

TEST(Validation, HigherBleuIsBetter) {
  State state;
  EXPECT_EQ(note_validation(state, ValidationMetric::bleu, 20, 1), Rank::best);
  EXPECT_EQ(note_validation(state, ValidationMetric::bleu, 19, 1), Rank::none);
  EXPECT_EQ(note_validation(state, ValidationMetric::bleu, 21, 1), Rank::best);
}

TEST(Validation, OfAModelThatBrokeIsWorseThanAny) {
  State state;
  EXPECT_EQ(note_validation(state, ValidationMetric::loss, 5, 2), Rank::best);
  EXPECT_EQ(note_validation(state, ValidationMetric::loss, std::nan(""), 2), Rank::kept);
  EXPECT_EQ(state.best[0].value, 5);
  EXPECT_EQ(state.validations_without_gain, 1);
  EXPECT_EQ(note_validation(state, ValidationMetric::loss, 6, 2), Rank::kept);
  EXPECT_EQ(note_validation(state, ValidationMetric::loss, 4, 2), Rank::best);

  State broken;
  EXPECT_EQ(note_validation(broken, ValidationMetric::loss, std::nan(""), 2), Rank::none);
  EXPECT_EQ(broken.validations_without_gain, 1);
  EXPECT_EQ(note_validation(broken, ValidationMetric::loss, 7, 2), Rank::best);
}

}  // namespace
}  // namespace residual::run
