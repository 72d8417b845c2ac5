#include "train/adam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"

namespace residual::train {
namespace {

std::vector<float> random_values(size_t size, uint64_t seed) {
  std::vector<float> values(size);
  const Random random(seed);
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<float>(2 * random.uniform(i) - 1);
  return values;
}

class Adam : public testing::TestWithParam<run::AdamForm> {};

TEST_P(Adam, IsItsDefinitionInDouble) {
  run::OptimizerConfig config{.form = GetParam(), .weight_decay = 0.01, .average_decay = 0.6};
  config.epsilon = 1e-3;  // large enough to show where it is added
  constexpr size_t kSize = 9;
  std::vector<float> values = random_values(kSize, 1), m(kSize), v(kSize), average(kSize);
  std::vector<double> p(values.begin(), values.end()), mean(kSize), square(kSize), a(kSize);
  for (int t = 1; t <= 20; ++t) {
    const auto gradient = random_values(kSize, static_cast<uint64_t>(100 + t));
    const double rate = 0.01 * t;
    adam(config, {.learning_rate = rate, .gradient_scale = 0.5, .number = t}, values, gradient, m,
         v, average);
    const double c1 = 1 - std::pow(config.beta1, t), c2 = 1 - std::pow(config.beta2, t);
    for (size_t i = 0; i < kSize; ++i) {
      const double g = 0.5 * gradient[i];
      mean[i] = config.beta1 * mean[i] + (1 - config.beta1) * g;
      square[i] = config.beta2 * square[i] + (1 - config.beta2) * g * g;
      p[i] *= 1 - rate * config.weight_decay;
      p[i] -= GetParam() == run::AdamForm::fairseq
                  ? rate * std::sqrt(c2) / c1 * mean[i] / (std::sqrt(square[i]) + config.epsilon)
                  : rate * (mean[i] / c1) / (std::sqrt(square[i] / c2) + config.epsilon);
      a[i] = t == 1 ? p[i] : a[i] + std::max(0.4, 9.0 / (t + 8)) * (p[i] - a[i]);
    }
  }
  for (size_t i = 0; i < kSize; ++i) {
    EXPECT_NEAR(values[i], p[i], 1e-5) << i;
    EXPECT_NEAR(average[i], a[i], 1e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Adam,
                         testing::Values(run::AdamForm::fairseq, run::AdamForm::textbook));

TEST(ReduceGradients, AddsInTheOrderOfTheWorkersWhateverTheThreads) {
  constexpr size_t kSize = 200'003;
  std::vector<std::vector<float>> results;
  std::vector<double> norms;
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    auto a = random_values(kSize, 1), b = random_values(kSize, 2), c = random_values(kSize, 3);
    const std::vector<std::span<float>> all{a, b, c};
    std::vector<double> squares(piece_count(kSize));
    reduce_gradients(all, 0.25, squares);
    norms.push_back(norm_of(squares));
    results.push_back(a);
  }
  set_thread_count(available_cores());
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(norms[0], norms[1]);
  const auto a = random_values(kSize, 1), b = random_values(kSize, 2), c = random_values(kSize, 3);
  double sum = 0;
  for (size_t i = 0; i < kSize; ++i) {
    const float expected = (a[i] + b[i] + c[i]) * 0.25F;
    ASSERT_EQ(results[0][i], expected);
    sum += static_cast<double>(expected) * expected;
  }
  EXPECT_NEAR(norms[0], std::sqrt(sum), 1e-9 * std::sqrt(sum));
}

TEST(ReduceGradients, OneInfinityShowsInTheNorm) {
  auto gradient = random_values(100, 1);
  gradient[57] = std::numeric_limits<float>::infinity();
  const std::vector<std::span<float>> all{gradient};
  std::vector<double> squares(1);
  reduce_gradients(all, 1, squares);
  EXPECT_FALSE(std::isfinite(norm_of(squares)));
}

TEST(ClipFactor, ShortensOnlyWhatIsTooLong) {
  EXPECT_EQ(clip_factor(0, 100), 1);
  EXPECT_EQ(clip_factor(1, 0.5), 1);
  EXPECT_DOUBLE_EQ(clip_factor(1, 4), 1 / (4 + 1e-6));
}

}  // namespace
}  // namespace residual::train
