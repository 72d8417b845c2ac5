#include "probe/theory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "base/random.h"
#include "probe/adam_condition.h"
#include "probe/probe.h"

namespace residual::probe {
namespace {

double frobenius(const AdamSetting& setting, double sigma, int64_t t) {
  return simulate_condition(setting, sigma, t, 1, 8).back().frobenius;
}

using Curve = std::map<int64_t, double>;  // by step

// The expected values are each of one simulation, or, where sigma >> epsilon, the mean of many. The
// standard deviation of one is below 0.5 % while sigma << epsilon, and up to 2 % at sigma =
// epsilon. Where sigma >> epsilon the few smallest gradients make up the first steps' norm, which
// varies by 20 %.
void expect_curve(const AdamSetting& setting, double sigma, const Curve& expected) {
  for (const auto& [t, kappa] : expected) {
    double tolerance = sigma < setting.epsilon ? 0.01 : 0.035;
    if (sigma > setting.epsilon && t <= 2) tolerance = 0.25;
    EXPECT_NEAR(frobenius(setting, sigma, t), kappa, tolerance * kappa)
        << "sigma " << sigma << ", step " << t;
  }
}

TEST(AdamCondition, HasTheValuesOfTheCorrectedDerivative) {
  const AdamSetting setting;
  expect_curve(setting, 0, {{1, 3200}, {2, 1684}, {5, 781}, {10, 491}, {20, 364}});
  expect_curve(setting, 1e-8, {{1, 3152}, {2, 1662}, {5, 773}, {10, 486}, {20, 361}});
  expect_curve(setting, 1e-7, {{1, 2786}, {2, 1492}, {5, 701}, {10, 443}, {20, 330}});
  expect_curve(setting, 1e-6, {{1, 1538}, {2, 837}, {5, 380}, {10, 242}, {20, 180}});
  expect_curve(setting, 1e-4, {{1, 162}, {2, 32}, {5, 8.7}, {10, 5.1}, {20, 3.6}});
}

TEST(AdamCondition, HasTheValuesOfTheDerivativeAsPrinted) {
  const AdamSetting setting{.sign = DerivativeSign::printed};
  expect_curve(setting, 1e-8, {{1, 3200}, {2, 1677}, {5, 775}, {10, 487}, {20, 361}});
  expect_curve(setting, 1e-7, {{1, 3174}, {2, 1610}, {5, 726}, {10, 453}, {20, 334}});
  expect_curve(setting, 1e-6, {{1, 2623}, {2, 1155}, {5, 463}, {10, 268}, {20, 191}});
}

// At the first step u(g) = a g / (|g| + eps) in closed form, and so is its derivative.
TEST(AdamCondition, DerivativeOfTheFirstStepIsTheClosedForm) {
  const AdamSetting a;
  for (const double g : {0.0, 1e-8, -1e-6, 1e-3}) {
    const double expected =
        a.learning_rate * a.epsilon / ((std::abs(g) + a.epsilon) * (std::abs(g) + a.epsilon));
    EXPECT_NEAR(update_derivative(a, 1, 0, 0, g), expected, 1e-9 * expected) << g;
  }
}

// Independent of both formulas: the difference quotient of the update itself.
TEST(AdamCondition, DerivativeIsThatOfTheUpdate) {
  for (const auto place : {EpsilonPlace::textbook, EpsilonPlace::fairseq}) {
    const AdamSetting a{.place = place};
    const double m = 2e-6, v = 3e-12, t = 7;
    const auto update = [&](double g) {
      const double m1 = a.beta1 * m + (1 - a.beta1) * g;
      const double v1 = a.beta2 * v + (1 - a.beta2) * g * g;
      const double c1 = 1 - std::pow(a.beta1, t), c2 = 1 - std::pow(a.beta2, t);
      if (place == EpsilonPlace::textbook) {
        return a.learning_rate * m1 / c1 / (std::sqrt(v1 / c2) + a.epsilon);
      }
      return a.learning_rate * std::sqrt(c2) / c1 * m1 / (std::sqrt(v1) + a.epsilon);
    };
    for (const double g : {-4e-6, 1e-7, 5e-6}) {
      const double h = 1e-10;
      const double quotient = (update(g + h) - update(g - h)) / (2 * h);
      EXPECT_NEAR(update_derivative(a, 7, m, v, g), quotient, 1e-5 * std::abs(quotient));
    }
  }
}

// One simulation of the first step has a standard deviation of 20 % here.
TEST(AdamCondition, MeansOfManyDrawsAgreeWhereOneDrawDoesNot) {
  const auto first = [](int64_t draws, uint64_t seed) {
    return simulate_condition({}, 1e-4, 1, seed, draws).front().frobenius;
  };
  std::vector<double> single, mean;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    single.push_back(first(1, seed));
    mean.push_back(first(64, seed));
  }
  const auto spread = [](const std::vector<double>& of) {
    return std::ranges::max(of) / std::ranges::min(of) - 1;
  };
  EXPECT_GT(spread(single), 0.2);
  EXPECT_LT(spread(mean), 0.14);
  // 19,200 simulations by NumPy have the mean 161.8.
  for (const double value : mean) EXPECT_NEAR(value, 161.8, 161.8 * 0.08);
}

TEST(AdamCondition, OfSeveralDrawsIsTheirMean) {
  const AdamSetting setting{.parameters = 3};
  const auto both = simulate_condition(setting, 1e-6, 2, 5, 2);
  const auto first = simulate_condition(setting, 1e-6, 2, 5);
  EXPECT_NE(both[0].frobenius, first[0].frobenius);
  // The second draw continues the streams of the first: its first step is stream 3.
  const Random third(5, 3);
  double squares = 0;
  for (uint64_t i = 0; i < 3; ++i) {
    const double derivative = update_derivative(setting, 1, 0, 0, 1e-6 * third.normal(i));
    squares += derivative * derivative;
  }
  EXPECT_NEAR(both[0].frobenius, (first[0].frobenius + std::sqrt(squares)) / 2, 1e-9);
}

// t / W times (1 - b1) / (1 - b1^t) grows with t: the largest value is that of a constant rate.
TEST(AdamCondition, WarmUpLeavesNoPeakOfTheFirstSteps) {
  const auto numbers = simulate_condition({.parameters = 4}, 0, 8000, 1);
  double last = 0;
  for (int64_t t = 1; t <= 8000; ++t) {
    const double kappa = numbers[static_cast<size_t>(t) - 1].frobenius * warmup_share(t, 4000);
    EXPECT_GE(kappa, last * (1 - 1e-12)) << t;
    last = kappa;
  }
  EXPECT_NEAR(last, numbers[0].frobenius * 0.1, 1e-9);  // 1 - beta1
  EXPECT_NEAR(numbers[0].frobenius * warmup_share(1, 4000), 200.0 / 4000, 1e-12);
  const auto figures = probe_adam({.steps = 1, .draws = 1, .warmup = 50}).figures;
  const auto& figure = *std::ranges::find(figures, std::string("adam-warmup"), &report::Figure::id);
  EXPECT_EQ(figure.series.size(), 6u);
  EXPECT_NEAR(figure.series[0].y.back(), figure.series[1].y.back(), 1e-9);  // beyond the warm-up
  EXPECT_NEAR(figure.series[0].y.front() * 50, figure.series[1].y.front(), 1e-9);
}

TEST(AdamCondition, SpectralNormIsTheLargestElement) {
  const auto first = simulate_condition({}, 0, 1, 1).front();
  EXPECT_NEAR(first.spectral, 100, 1e-9);                   // a / eps
  EXPECT_NEAR(first.frobenius / first.spectral, 32, 1e-9);  // sqrt(1024)
}

TEST(AdamCondition, EquationThreeAsPrintedLacksTheSquare) {
  EXPECT_NEAR(printed_condition({}, 1), 3.2, 1e-12);
}

TEST(AdamCondition, NoteOfTheFigureHasTheNumbersOfItsSetting) {
  EXPECT_THAT(probe_adam({.steps = 1}).figures.at(0).note,
              testing::HasSubstr("would start at 3.2, not at 3200."));
  const AdamOptions other{.setting = {.parameters = 4096, .epsilon = 1e-8}, .steps = 1};
  EXPECT_THAT(probe_adam(other).figures.at(0).note,
              testing::HasSubstr("would start at 64, not at 6.4e+05."));
}

TEST(AdamCondition, FairseqsEpsilonIsSmallerByTheBiasCorrection) {
  const AdamSetting fairseq{.place = EpsilonPlace::fairseq};
  EXPECT_NEAR(simulate_condition(fairseq, 0, 1, 1).front().frobenius / 3200, std::sqrt(1 - 0.98),
              1e-9);
  const AdamSetting actual{.epsilon = 1e-8, .place = EpsilonPlace::fairseq};
  EXPECT_NEAR(simulate_condition(actual, 0, 1, 1).front().frobenius, 3.2e5 * std::sqrt(0.02), 1e-6);
}

TEST(Theorem33, HasItsGoldenValues) {
  for (const auto& [k, value] :
       std::map<int, double>{{2, .61067}, {6, .33307}, {12, .23282}, {18, .18940}, {36, .13345}}) {
    EXPECT_NEAR(pre_ln_change(k), value, 5e-6) << k;
    const double printed = 2 / (std::sqrt(k) * (std::sqrt(k - 1) + std::sqrt(k)));
    EXPECT_NEAR(pre_ln_change(k), std::sqrt(2 / std::numbers::pi * printed), 1e-12);
  }
}

TEST(Theorem36, HasItsGoldenValues) {
  EXPECT_NEAR(post_ln_variance(1), .58579, 5e-6);
  EXPECT_NEAR(post_ln_variance(.32), .25922, 5e-6);
  EXPECT_NEAR(post_ln_variance(1.0 / 18), .05334, 5e-6);
  EXPECT_NEAR(post_ln_change(.32), std::sqrt(2 / std::numbers::pi * .25922), 5e-6);
}

// With the embedding an addend like any other, block k's input is a sum of k of them: the theorem's
// k + 1.
TEST(Theorem33, HoldsInTheSimulatedStack) {
  const auto simulated = simulate_gaussian_stack("pre-ln", 24, 256, 1, 1);
  ASSERT_EQ(simulated.change.size(), 23u);
  for (int k = 1; k < 24; ++k) {
    EXPECT_NEAR(simulated.change[k - 1], pre_ln_change(k + 1), 0.02 * pre_ln_change(k + 1)) << k;
  }
}

TEST(Theorem36, HoldsInTheSimulatedStackAtAnyDepth) {
  for (const std::string scheme : {"post-ln", "resi-dual"}) {
    for (const double variance : {1.0, .32}) {
      for (const double change : simulate_gaussian_stack(scheme, 24, 256, variance, 1).change) {
        EXPECT_NEAR(change, post_ln_change(variance), 0.03 * post_ln_change(variance)) << scheme;
      }
    }
  }
}

TEST(Corollary35, OutputOfPreLnMovesLessWithEveryBlock) {
  const auto simulated = simulate_gaussian_stack("pre-ln", 36, 256, 1, 1);
  EXPECT_NEAR(simulated.output_change[35], pre_ln_change(37), 0.02 * pre_ln_change(37));
}

// The proof adds variances of two differences that share f_N; their covariance is positive, so
// that the bound holds with room.
TEST(Corollary37, OutputOfResiDualMovesAtLeastByTheBound) {
  for (const double change : simulate_gaussian_stack("resi-dual", 36, 256, 1, 1).output_change) {
    EXPECT_GT(change, post_ln_change(1));
  }
}

// The stated assumptions lead to neither growth rate of theorem 3.1.
TEST(Theorem31, DoesNotFollowFromItsAssumptions) {
  constexpr int kBlocks = 36;
  const auto post = simulate_linear_gradients(LinearModel::post_ln, kBlocks, 64, 8, 1);
  EXPECT_GT(post.front() / post.back(), 0.4);  // printed: 1.4e-3
  EXPECT_LT(post.front() / post.back(), 2.5);
  EXPECT_LT(printed_post_ln_gradient(1, kBlocks), 3e-3);
  const auto pre = simulate_linear_gradients(LinearModel::pre_ln, kBlocks, 64, 8, 1);
  for (const int k : {4, 9, 18, 35}) {
    EXPECT_NEAR(pre[k - 1] / linear_pre_ln_gradient(k, kBlocks), 1, 0.1) << k;
  }
}

}  // namespace
}  // namespace residual::probe
