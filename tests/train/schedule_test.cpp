#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace residual::train {
namespace {

TEST(InverseSqrt, IsFairseqs) {
  const run::ScheduleConfig schedule{.peak = 5e-4, .warmup = 4000, .warmup_init = 1e-7};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 1e-7);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 2000), (1e-7 + 5e-4) / 2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 4000), 5e-4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 16000), 2.5e-4);
}

TEST(InverseSqrt, WithoutWarmupIsConstantFirst) {
  const run::ScheduleConfig schedule{.peak = 5e-4, .warmup = 4000, .warmup_init = 5e-4};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 5e-4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 3999), 5e-4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 16000), 2.5e-4);
}

TEST(Linear, FallsFromPeakToEnd) {
  run::ScheduleConfig schedule{
      .kind = run::ScheduleKind::linear, .peak = 1, .warmup = 0, .total = 100};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 75), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 100), 0);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 1000), 0);
  schedule.warmup = 20;
  schedule.warmup_init = 0;
  schedule.end = 0.2;
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 10), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 20), 1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 60), 0.6);
}

TEST(Cosine, IsHalfwayInTheMiddle) {
  const run::ScheduleConfig schedule{
      .kind = run::ScheduleKind::cosine, .peak = 1, .warmup = 10, .total = 110, .end = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 10), 1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 60), 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 110), 0.1);
}

TEST(TFixup, DecaysFromTheFirstUpdate) {
  const run::ScheduleConfig schedule{
      .kind = run::ScheduleKind::t_fixup, .peak = 5e-4, .warmup = 4000};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 5e-4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 12000), 2.5e-4);
}

TEST(Constant, StaysAtThePeakAfterTheWarmup) {
  const run::ScheduleConfig schedule{
      .kind = run::ScheduleKind::constant, .peak = 1e-3, .warmup = 10, .warmup_init = 0};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 5), 5e-4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 100000), 1e-3);
}

}  // namespace
}  // namespace residual::train
