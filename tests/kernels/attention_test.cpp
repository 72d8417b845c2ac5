#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "support/each_target.h"

namespace residual::kernels {
namespace {

RESIDUAL_ON_EACH_TARGET(Attention);

constexpr float kScale = 3;  // of scores: makes some probabilities large

// Queries, keys and values of all positions; the definition in double.
struct Problem {
  Heads heads;
  int rows, positions;
  int64_t width = int64_t{heads.count} * heads.width;
  int64_t key_width = int64_t{heads.keys()} * heads.width;
  std::vector<float> q = random_floats(rows * width, 1);
  std::vector<float> k = random_floats(positions * width, 2);
  std::vector<float> v = random_floats(positions * width, 3);

  std::vector<double> probabilities(int row, int head, int count) const {
    std::vector<double> p(count);
    for (int j = 0; j < count; ++j) {
      double score = 0;
      for (int64_t i = int64_t{head} * heads.width; i < int64_t{head + 1} * heads.width; ++i) {
        score += double{q[row * width + i]} * k[j * width + i];
      }
      p[j] = std::exp(score * kScale);
    }
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& e : p) e /= sum;
    return p;
  }

  // Row `row` may see the first `count` positions.
  std::vector<double> exact(int row, int count) const {
    std::vector<double> out(width);
    for (int head = 0; head < heads.count; ++head) {
      const std::vector<double> p = probabilities(row, head, count);
      for (int j = 0; j < count; ++j) {
        for (int64_t i = int64_t{head} * heads.width; i < int64_t{head + 1} * heads.width; ++i) {
          out[i] += p[j] * v[j * width + i];
        }
      }
    }
    return out;
  }

  std::vector<float> shared(int first, int count, float* probabilities = nullptr) const {
    std::vector<float> memory(shared_memory_size(heads, positions));
    fill_shared_memory(heads, k.data(), v.data(), key_width, positions, memory.data());
    std::vector<float> out(count * width);
    attend_shared({.heads = heads,
                   .scale = kScale,
                   .queries = q.data() + first * width,
                   .query_stride = width,
                   .rows = count,
                   .memory = memory.data(),
                   .positions = positions,
                   .out = out.data(),
                   .out_stride = width,
                   .probabilities = probabilities});
    return out;
  }

  // Row i sees positions 0 ... i, which lie in the cache in reverse order.
  std::vector<float> cached(int first, int count) const {
    std::vector<float> cache(2 * k.size());
    for (int j = 0; j < positions; ++j) {
      const int64_t slot = positions - 1 - j;
      fill_cache_row(heads, k.data() + j * key_width, v.data() + j * key_width,
                     cache.data() + slot * 2 * width);
    }
    std::vector<int32_t> slots, seen;
    for (int i = first; i < first + count; ++i) {
      for (int j = 0; j < positions; ++j) slots.push_back(j <= i ? positions - 1 - j : -1);
      seen.push_back(i + 1);
    }
    std::vector<float> out(count * width);
    attend_cached({.heads = heads,
                   .scale = kScale,
                   .queries = q.data() + first * width,
                   .query_stride = width,
                   .rows = count,
                   .cache = cache.data(),
                   .cache_stride = 2 * width,
                   .slots = slots.data(),
                   .slot_stride = positions,
                   .positions = seen.data(),
                   .out = out.data(),
                   .out_stride = width});
    return out;
  }
};

std::vector<float> row_of(const std::vector<float>& all, int64_t row, int64_t width) {
  return {all.begin() + row * width, all.begin() + (row + 1) * width};
}

TEST_P(Attention, SharedAgreesWithTheDefinition) {
  for (const int head_width : {1, 8, 15, 16, 17, 33, 64}) {
    for (const int positions : {1, 7, 16, 17, 33, 64}) {
      SCOPED_TRACE(testing::Message() << head_width << " wide, " << positions << " positions");
      const Problem problem{{.count = 3, .width = head_width}, 8, positions};
      const std::vector<float> out = problem.shared(0, 8);
      for (int row = 0; row < 8; ++row) {
        expect_close(row_of(out, row, problem.width), problem.exact(row, positions), 2e-5);
      }
    }
  }
}

// As if every head of queries had its own copy of the keys and values.
TEST_P(Attention, GroupsShareTheirKeysAndValues) {
  for (const int head_width : {1, 8, 17, 64}) {
    for (const int positions : {1, 7, 17, 33}) {
      SCOPED_TRACE(testing::Message() << head_width << " wide, " << positions << " positions");
      Problem grouped{{.count = 6, .width = head_width, .group = 3}, positions, positions};
      Problem copied{{.count = 6, .width = head_width}, positions, positions};
      const int64_t few = 2 * head_width;
      for (int64_t j = 0; j < positions; ++j) {
        for (int64_t i = 0; i < grouped.width; ++i) {
          const int64_t from = j * few + i / head_width / 3 * head_width + i % head_width;
          copied.k[j * grouped.width + i] = grouped.k[from];
          copied.v[j * grouped.width + i] = grouped.v[from];
        }
      }
      EXPECT_EQ(grouped.shared(0, positions), copied.shared(0, positions));
      EXPECT_EQ(grouped.cached(0, positions), copied.cached(0, positions));
    }
  }
}

TEST_P(Attention, ProbabilitiesAreThoseOfTheSoftmax) {
  const Problem problem{{.count = 2, .width = 16}, 7, 19};
  std::vector<float> probabilities(7 * 2 * 19);
  problem.shared(0, 7, probabilities.data());
  for (int row = 0; row < 7; ++row) {
    for (int head = 0; head < 2; ++head) {
      expect_close(row_of(probabilities, row * 2 + head, 19), problem.probabilities(row, head, 19),
                   1e-5);
    }
  }
}

TEST_P(Attention, CachedAgreesWithTheDefinition) {
  for (const int head_width : {1, 8, 15, 16, 17, 33, 64}) {
    for (const int positions : {1, 7, 17, 33}) {
      SCOPED_TRACE(testing::Message() << head_width << " wide, " << positions << " positions");
      const Problem problem{{.count = 3, .width = head_width}, positions, positions};
      const std::vector<float> out = problem.cached(0, positions);
      for (int row = 0; row < positions; ++row) {
        expect_close(row_of(out, row, problem.width), problem.exact(row, row + 1), 2e-5);
      }
    }
  }
}

TEST_P(Attention, ARowDoesNotDependOnTheOthers) {
  const Problem problem{{.count = 2, .width = 64}, 19, 19};
  const std::vector<float> shared = problem.shared(0, 19), cached = problem.cached(0, 19);
  for (int count = 1; count <= 7; ++count) {
    for (int row = 0; row < count; ++row) {
      EXPECT_EQ(row_of(problem.shared(12, count), row, 128), row_of(shared, 12 + row, 128));
      EXPECT_EQ(row_of(problem.cached(12, count), row, 128), row_of(cached, 12 + row, 128));
    }
  }
}

TEST_P(Attention, LargeScoresDoNotOverflow) {
  Problem problem{{.count = 1, .width = 16}, 2, 5};
  for (float& x : problem.q) x *= 1e4F;
  for (const std::vector<float>& out : {problem.shared(0, 2), problem.cached(0, 2)}) {
    for (const float x : out) EXPECT_LE(std::fabs(x), 1);
  }
}

TEST_P(Attention, NotANumberInAKeySpoilsTheRowsThatSeeIt) {
  Problem problem{{.count = 1, .width = 16}, 3, 3};
  problem.k[1 * 16 + 5] = std::numeric_limits<float>::quiet_NaN();
  for (const float x : problem.shared(0, 3)) EXPECT_TRUE(std::isnan(x));
  const std::vector<float> cached = problem.cached(0, 3);
  for (int i = 0; i < 3 * 16; ++i) EXPECT_EQ(std::isnan(cached[i]), i / 16 >= 1);
}

}  // namespace
}  // namespace residual::kernels
