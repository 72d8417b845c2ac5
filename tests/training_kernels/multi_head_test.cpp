#include "training_kernels/multi_head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/each_target.h"

namespace residual::kernels {
namespace {

RESIDUAL_ON_EACH_TARGET(MultiHeadKernel);

constexpr Dropout kOff, kOn{.rate = 0.3, .key = 5};

// q stands alone; k and v side by side in rows of 2 d + 3, as do their gradients.
struct Case {
  int64_t heads, head_width;
  std::vector<int64_t> query_offsets, key_offsets;
  bool causal = false;
  Dropout dropout;

  int64_t d = heads * head_width, stride = 2 * d + 3;
  int64_t queries = query_offsets.back(), keys = key_offsets.back();
  std::vector<float> q = random_floats(queries * d, 1), kv = random_floats(keys * stride, 2);
  std::vector<float> dout = random_floats(queries * d, 3);

  MultiHead problem() const {
    return {.sentences = static_cast<int64_t>(query_offsets.size()) - 1,
            .heads = heads,
            .head_width = head_width,
            .query_offsets = query_offsets.data(),
            .key_offsets = key_offsets.data(),
            .causal = causal,
            .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_width))),
            .dropout = dropout,
            .q = matrix(q.data(), queries, d),
            .k = {kv.data(), keys, d, stride},
            .v = {kv.data() + d, keys, d, stride}};
  }
};

template <class T>
struct Results {
  std::vector<T> out, dq, dkv;

  explicit Results(const Case& c)
      : out(c.queries * c.d), dq(c.queries * c.d), dkv(c.keys * c.stride) {}
};

Results<float> run(const Case& c) {
  Results<float> r(c);
  std::vector<float> log_sums(c.queries * c.heads);
  multi_head(c.problem(), matrix(r.out.data(), c.queries, c.d), log_sums.data());
  multi_head_gradient({.forward = c.problem(),
                       .log_sums = log_sums.data(),
                       .dout = matrix(c.dout.data(), c.queries, c.d),
                       .dq = matrix(r.dq.data(), c.queries, c.d),
                       .dk = {r.dkv.data(), c.keys, c.d, c.stride},
                       .dv = {r.dkv.data() + c.d, c.keys, c.d, c.stride}});
  return r;
}

// One query of one head: P = softmax, O = drop(P) V, and back, in float64.
void attend(const Case& c, int64_t i, int64_t first_key, int64_t visible, int64_t column,
            const float* drop, Results<double>& r) {
  const MultiHead p = c.problem();
  const auto key = [&](int64_t j) { return (first_key + j) * c.stride + column; };
  const float *q = c.q.data() + i * c.d + column, *dout = c.dout.data() + i * c.d + column;
  std::vector<double> probability(visible), dp(visible);
  double sum = 0, mean = 0;
  for (int64_t j = 0; j < visible; ++j) {
    double score = 0;
    for (int64_t h = 0; h < c.head_width; ++h) score += double{q[h]} * c.kv[key(j) + h];
    sum += probability[j] = std::exp(p.scale * score);
  }
  for (int64_t j = 0; j < visible; ++j) {
    probability[j] /= sum;
    for (int64_t h = 0; h < c.head_width; ++h) {
      const double v = c.kv[key(j) + c.d + h];
      r.out[i * c.d + column + h] += probability[j] * drop[j] * v;
      r.dkv[key(j) + c.d + h] += probability[j] * drop[j] * dout[h];
      dp[j] += double{drop[j]} * dout[h] * v;
    }
    mean += probability[j] * dp[j];
  }
  for (int64_t j = 0; j < visible; ++j) {
    const double ds = p.scale * probability[j] * (dp[j] - mean);
    for (int64_t h = 0; h < c.head_width; ++h) {
      r.dq[i * c.d + column + h] += ds * c.kv[key(j) + h];
      r.dkv[key(j) + h] += ds * q[h];
    }
  }
}

Results<double> exact(const Case& c) {
  Results<double> r(c);
  int64_t element = 0;
  for (size_t s = 0; s + 1 < c.query_offsets.size(); ++s) {
    const int64_t nk = c.key_offsets[s + 1] - c.key_offsets[s];
    std::vector<float> drop(nk, 1.0F);
    for (int64_t head = 0; head < c.heads; ++head) {
      for (int64_t i = c.query_offsets[s]; i < c.query_offsets[s + 1]; ++i, element += nk) {
        if (c.dropout.on()) dropout_factors(c.dropout, element, nk, drop.data());
        const int64_t visible = c.causal ? std::min(i - c.query_offsets[s] + 1, nk) : nk;
        attend(c, i, c.key_offsets[s], visible, head * c.head_width, drop.data(), r);
      }
    }
  }
  return r;
}

void expect_parity(const Case& c) {
  SCOPED_TRACE(testing::Message() << c.heads << " heads of " << c.head_width << ", causal "
                                  << c.causal << ", dropout " << c.dropout.rate);
  const Results<float> got = run(c);
  const Results<double> want = exact(c);
  expect_close(got.out, want.out, 2e-6);
  expect_close(got.dq, want.dq, 5e-6);
  expect_close(got.dkv, want.dkv, 5e-6);
}

TEST_P(MultiHeadKernel, AgreesWithItsDefinitionForEveryHeadWidth) {
  for (const int64_t head_width : {1, 3, 8, 15, 16, 17, 32, 64}) {
    for (const bool causal : {false, true}) {
      for (const Dropout& dropout : {kOff, kOn}) {
        expect_parity({1, head_width, {0, 1, 6, 8}, {0, 4, 5, 9}, causal, dropout});
        expect_parity({3, head_width, {0, 5}, {0, 5}, causal, dropout});
      }
    }
  }
}

TEST_P(MultiHeadKernel, AgreesWithItsDefinitionForEveryLength) {
  for (const int64_t n : {1, 3, 4, 5, 7, 8, 9, 16, 17, 33, 65}) {
    for (const bool causal : {false, true}) {
      expect_parity({2, 4, {0, 3, 3 + n}, {0, n, n + 2}, causal, kOn});
    }
  }
}

TEST_P(MultiHeadKernel, TakesNoSentencesAndNoQueries) {
  expect_parity({2, 4, {0}, {0}});
  expect_parity({2, 4, {0, 0, 2}, {0, 3, 5}});
}

TEST_P(MultiHeadKernel, NotANumberSpoilsItsSentenceAndNoOther) {
  Case c{1, 5, {0, 2, 4}, {0, 3, 6}};
  c.kv[4 * c.stride + 1] = std::numeric_limits<float>::quiet_NaN();  // a key of the second
  const Results<float> got = run(c);
  for (int64_t i = 0; i < c.queries * c.d; ++i) {
    EXPECT_EQ(std::isnan(got.out[i]), i >= 2 * c.d);
    EXPECT_EQ(std::isnan(got.dq[i]), i >= 2 * c.d);
  }
}

}  // namespace
}  // namespace residual::kernels
