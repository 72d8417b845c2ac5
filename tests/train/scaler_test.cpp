#include "train/scaler.h"

#include <gtest/gtest.h>

#include <limits>

namespace residual::train {
namespace {

TEST(LossScaler, DoublesAfterAWindowAndHalvesAtOverflow) {
  LossScaler scaler({.initial = 128, .window = 3, .minimum = 16}, run::TrainingPrecision::fp16);
  for (int i = 0; i < 3; ++i) scaler.succeeded();
  EXPECT_EQ(scaler.scale(), 256);
  scaler.succeeded();
  EXPECT_TRUE(scaler.overflowed());
  EXPECT_EQ(scaler.scale(), 128);
  for (int i = 0; i < 2; ++i) scaler.succeeded();
  EXPECT_EQ(scaler.scale(), 128);  // the overflow began a new window
  scaler.succeeded();
  EXPECT_EQ(scaler.scale(), 256);

  LossScaler copy({.initial = 128, .window = 3, .minimum = 16}, run::TrainingPrecision::fp16);
  copy.restore(scaler.scale(), scaler.good_updates());
  for (LossScaler* s : {&scaler, &copy}) {
    for (int i = 0; i < 4; ++i) s->succeeded();
  }
  EXPECT_EQ(copy.scale(), scaler.scale());
}

TEST(LossScaler, GivesUpBelowTheMinimum) {
  LossScaler scaler({.initial = 32, .window = 3, .minimum = 16}, run::TrainingPrecision::fp16);
  EXPECT_TRUE(scaler.overflowed());
  EXPECT_FALSE(scaler.overflowed());
}

TEST(LossScaler, IsOneInOtherPrecisions) {
  LossScaler scaler({}, run::TrainingPrecision::bf16);
  for (int i = 0; i < 5000; ++i) scaler.succeeded();
  EXPECT_EQ(scaler.scale(), 1);
  EXPECT_FALSE(scaler.active());
}

}  // namespace
}  // namespace residual::train
