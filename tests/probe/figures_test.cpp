#include "probe/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace residual::probe {
namespace {

// A stack of two layers of two blocks, each with the share 0.25.
MeasuredModel example() {
  StackMeasurement stack{.side = Side::encoder, .layers = 2};
  stack.gradients.total = {.parameters = {1, 1, 1, 1}, .outputs = {1, 1, 1, 1}};
  stack.representation = {.change = {1, 1, 1},
                          .normalised_change = {0.5, 0.5, 0.5},
                          .cosine = {0, 0, 0},
                          .similarity = {{1, 0}, {0, 1}}};
  stack.output_changes = {1, 1};
  stack.shares = {{0.25}, {0.25}, {0.25}, {0.25}};
  stack.passes_sum = {true, true, true};
  return {.label = "example", .measurement = {.stacks = {stack}}};
}

report::Figure figure_of(const MeasuredModel& model, const std::string& id) {
  const auto figures = model_figures({model});
  const auto found = std::ranges::find(figures, id, &report::Figure::id);
  EXPECT_NE(found, figures.end()) << id;
  return found == figures.end() ? report::Figure{} : *found;
}

TEST(Figures, ExpectNoChangeWhereTheNextBlockSeesMoreThanTheSum) {
  MeasuredModel model = example();
  model.measurement.stacks[0].passes_sum[1] = false;
  const auto expected = figure_of(model, "encoder-change").series.at(1).y;
  ASSERT_EQ(expected.size(), 3u);
  EXPECT_DOUBLE_EQ(expected[0], expected_change(0.25));
  EXPECT_TRUE(std::isnan(expected[1]));
  EXPECT_DOUBLE_EQ(expected[2], expected_change(0.25));
}

TEST(Figures, CopeWithABlockThatJoinsNoSum) {
  MeasuredModel model = example();
  StackMeasurement& stack = model.measurement.stacks[0];
  stack.shares[0].clear();
  stack.passes_sum[0] = false;
  const auto shares = figure_of(model, "encoder-shares").series;
  ASSERT_EQ(shares.size(), 1u);
  EXPECT_TRUE(std::isnan(shares[0].y.at(0)));
  EXPECT_DOUBLE_EQ(shares[0].y.at(3), 0.25);
  EXPECT_TRUE(std::isnan(figure_of(model, "encoder-change").series.at(1).y.at(0)));
}

}  // namespace
}  // namespace residual::probe
