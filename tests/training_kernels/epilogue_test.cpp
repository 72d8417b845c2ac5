#include "training_kernels/epilogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/each_target.h"

namespace residual::kernels {
namespace {

RESIDUAL_ON_EACH_TARGET(Epilogue);

constexpr int64_t kRows = 3;
constexpr Dropout kOff, kOn{.rate = 0.3, .key = 5};

std::vector<float> factors(const Dropout& dropout, int64_t first, int64_t count) {
  std::vector<float> made(count, 1.0F);
  if (dropout.on()) dropout_factors(dropout, first, count, made.data());
  return made;
}

TEST_P(Epilogue, AddsABiasToEveryRow) {
  for (const int width : kSizes) {
    const std::vector<float> before = random_floats(kRows * width, 1);
    const std::vector<float> bias = random_floats(width, 2);
    std::vector<float> y = before, sums = bias;
    add_bias(bias.data(), kRows, width, y.data());
    add_column_sums(before.data(), kRows, width, sums.data());
    std::vector<double> want(bias.begin(), bias.end());
    for (int64_t i = 0; i < kRows * width; ++i) {
      EXPECT_EQ(y[i], before[i] + bias[i % width]);
      want[i % width] += before[i];
    }
    expect_close(sums, want, 1e-6);
  }
}

// Elements counted from 13: a chunk of rows need not begin where a block of random numbers does.
TEST_P(Epilogue, ReluAndDropoutAgreeWithTheirDefinition) {
  constexpr int64_t kFirst = 13;
  for (const int width : kSizes) {
    for (const Dropout& dropout : {kOff, kOn}) {
      SCOPED_TRACE(testing::Message() << width << ", dropout " << dropout.rate);
      const int64_t count = kRows * width;
      const std::vector<float> before = random_floats(count, 1), bias = random_floats(width, 2);
      const std::vector<float> dy = random_floats(count, 3);
      const std::vector<float> drop = factors(dropout, kFirst, count);
      std::vector<float> y = before, dx(count);
      bias_relu_dropout(bias.data(), dropout, kFirst, kRows, width, y.data());
      relu_dropout_gradient(y.data(), dy.data(), dropout, count, dx.data());
      for (int64_t i = 0; i < count; ++i) {
        const float sum = before[i] + bias[i % width];
        EXPECT_EQ(y[i], std::max(sum, 0.0F) * drop[i]);
        EXPECT_EQ(dx[i], sum > 0 ? dy[i] * drop[i] : 0);
      }
    }
  }
}

TEST_P(Epilogue, ReluKeepsNotANumber) {
  for (const int place : {0, 16}) {
    std::vector<float> y(17, -1.0F);
    const std::vector<float> bias(17, 0.0F);
    y[place] = std::numeric_limits<float>::quiet_NaN();
    bias_relu_dropout(bias.data(), kOff, 0, 1, 17, y.data());
    for (int j = 0; j < 17; ++j) EXPECT_EQ(std::isnan(y[j]), j == place);
  }
}

TEST_P(Epilogue, LookupAndItsGradientAgreeWithTheirDefinition) {
  const std::vector<int64_t> ids = {4, 0, 4}, places = {0, 3, 2};
  for (const int width : kSizes) {
    for (const Dropout& dropout : {kOff, kOn}) {
      SCOPED_TRACE(testing::Message() << width << ", dropout " << dropout.rate);
      const std::vector<float> table = random_floats(5 * width, 1);
      const std::vector<float> positions = random_floats(4 * width, 2);
      const std::vector<float> dy = random_floats(kRows * width, 3);
      const std::vector<float> drop = factors(dropout, 0, kRows * width);
      std::vector<float> y(kRows * width), dtable(5 * width, 1.0F);
      const Lookup p{.rows = kRows,
                     .width = width,
                     .factor = 4,
                     .dropout = dropout,
                     .ids = ids.data(),
                     .places = places.data(),
                     .table = table.data(),
                     .positions = positions.data()};
      look_up(p, y.data());
      look_up_gradient(p, dy.data(), dtable.data());
      std::vector<double> want(y.size()), dwant(dtable.size(), 1.0);
      for (int64_t i = 0; i < kRows * width; ++i) {
        const int64_t row = i / width, j = i % width;
        const int64_t token = ids[row] * width + j;
        want[i] = (4.0 * table[token] + positions[places[row] * width + j]) * drop[i];
        dwant[token] += 4.0 * dy[i] * drop[i];
      }
      expect_close(y, want, 1e-6);
      expect_close(dtable, dwant, 2e-6);
    }
  }
}

TEST_P(Epilogue, AccumulatesAMultiple) {
  for (const int count : kSizes) {
    const std::vector<float> x = random_floats(count, 1), before = random_floats(count, 2);
    std::vector<float> y = before;
    accumulate(-0.7F, x.data(), count, y.data());
    std::vector<double> want(before.begin(), before.end());
    for (int i = 0; i < count; ++i) want[i] += double{-0.7F} * x[i];
    expect_close(y, want, 2e-7);
  }
}

}  // namespace
}  // namespace residual::kernels
