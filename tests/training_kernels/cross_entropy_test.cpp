#include "training_kernels/cross_entropy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/each_target.h"

namespace residual::kernels {
namespace {

RESIDUAL_ON_EACH_TARGET(CrossEntropyKernel);

struct Exact {
  CrossEntropySums sums;
  std::vector<double> gradient;
};

// The header's equations in float64.
Exact exact(const CrossEntropy& p) {
  Exact e;
  const auto symbols = static_cast<double>(p.symbols);
  for (int64_t i = 0; i < p.rows; ++i) {
    const float* row = p.logits + i * p.symbols;
    const double most = *std::max_element(row, row + p.symbols);
    double sum = 0;
    for (int64_t v = 0; v < p.symbols; ++v) sum += std::exp(row[v] - most);
    const double log_sum = most + std::log(sum), nll = log_sum - row[p.targets[i]];
    e.sums.nll += nll;
    e.sums.loss += p.gold * nll;
    for (int64_t v = 0; v < p.symbols; ++v) {
      e.sums.loss -= p.each * (row[v] - log_sum);
      e.gradient.push_back((p.gold + symbols * p.each) * std::exp(row[v] - log_sum) - p.each -
                           (v == p.targets[i] ? p.gold : 0));
    }
  }
  return e;
}

struct Case {
  int64_t rows, symbols;
  float size = 1;  // of the logits
  std::vector<float> logits = random_floats(rows * symbols, 1);
  std::vector<int64_t> targets = std::vector<int64_t>(rows);

  CrossEntropy prepare(float gold, float each) {
    for (float& logit : logits) logit *= size;
    for (int64_t i = 0; i < rows; ++i) targets[i] = i * 7 % symbols;
    return {rows, symbols, gold, each, targets.data(), logits.data()};
  }
};

TEST_P(CrossEntropyKernel, AgreesWithItsDefinition) {
  for (const float each : {0.0F, 0.01F}) {
    for (const int symbols : kSizes) {
      for (const float size : {1.0F, 10.0F, 1e4F}) {
        SCOPED_TRACE(testing::Message() << symbols << " symbols, logits to " << size);
        Case made{3, symbols, size};
        const CrossEntropy p = made.prepare(0.9F, each);
        const Exact want = exact(p);
        const CrossEntropySums got = cross_entropy(p);
        EXPECT_NEAR(got.loss, want.sums.loss, 1e-6 * (1 + std::abs(want.sums.loss)));
        EXPECT_NEAR(got.nll, want.sums.nll, 1e-6 * (1 + std::abs(want.sums.nll)));
        expect_close(made.logits, want.gradient, 2e-6);
      }
    }
  }
}

TEST_P(CrossEntropyKernel, RoundsTheSameGradientToBfloat16) {
  for (const int symbols : kSizes) {
    Case made{3, symbols, 1}, other = made;
    std::vector<Bf16> want(3 * symbols), got(3 * symbols, 7);
    const CrossEntropySums sums = cross_entropy(made.prepare(0.9F, 0.01F));
    to_bf16(made.logits.data(), 3 * symbols, want.data());
    CrossEntropy p = other.prepare(0.9F, 0.01F);
    p.gradient = got.data();
    EXPECT_EQ(cross_entropy(p).loss, sums.loss);
    EXPECT_EQ(got, want);
  }
}

TEST_P(CrossEntropyKernel, OfNoRowsIsZero) {
  const CrossEntropySums sums = cross_entropy({.rows = 0, .symbols = 5});
  EXPECT_EQ(sums.loss, 0);
  EXPECT_EQ(sums.nll, 0);
}

TEST_P(CrossEntropyKernel, IsNotANumberIfALogitIsNot) {
  for (const int place : {0, 16, 32}) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Case made{2, 33};
      const CrossEntropy p = made.prepare(0.9F, 0.01F);
      made.logits[33 + place] = bad;
      const CrossEntropySums sums = cross_entropy(p);
      EXPECT_TRUE(std::isnan(sums.loss));
      EXPECT_TRUE(std::isnan(sums.nll));
    }
  }
}

}  // namespace
}  // namespace residual::kernels
