#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "schemes/make.h"
#include "support/double_arithmetic.h"

// Blocks small enough to follow a scheme by hand, on doubles.
namespace residual::schemes {

using A = test::DoubleArithmetic;
using test::Rows;

constexpr size_t kWidth = 8;

inline Rows random_rows(size_t rows, uint64_t seed) {
  Rows x{.width = kWidth, .at = std::vector<double>(rows * kWidth)};
  for (size_t i = 0; i < x.at.size(); ++i) x.at[i] = 4 * Random(seed).uniform(i) - 2;
  return x;
}

// Position-wise blocks: f_k(x) = strength_k tanh(W_k x), W_k random. Strength 0 is a silent block.
class ToyBlocks : public Blocks<A> {
 public:
  ToyBlocks(int count, int per_layer, double all = 0.7)
      : Blocks(count, per_layer), strength(static_cast<size_t>(count), all) {}

  Rows operator()(int k, const Rows& x) const override {
    Rows out = x;
    for (size_t row = 0; row < x.rows(); ++row) {
      for (size_t i = 0; i < kWidth; ++i) {
        double sum = 0;
        for (size_t j = 0; j < kWidth; ++j) {
          sum += (Random(7, static_cast<uint64_t>(k)).uniform(i * kWidth + j) - 0.5) *
                 x.at[row * kWidth + j];
        }
        out.at[row * kWidth + i] = strength[static_cast<size_t>(k)] * std::tanh(sum);
      }
    }
    return out;
  }

  std::vector<double> strength;
};

inline double largest_difference(const Rows& a, const Rows& b) {
  EXPECT_EQ(a.at.size(), b.at.size());
  double largest = 0;
  for (size_t i = 0; i < a.at.size(); ++i) largest = std::max(largest, std::abs(a.at[i] - b.at[i]));
  return largest;
}

constexpr Stack kEncoder = {
    .side = Side::encoder, .layers = 3, .other_layers = 2, .blocks_per_layer = 2};
constexpr Stack kDecoder = {
    .side = Side::decoder, .layers = 2, .other_layers = 3, .blocks_per_layer = 3};

inline Rows run(const Choice& choice, const Rows& x, const ToyBlocks& f,
                const Stack& stack = kEncoder) {
  A a(kWidth);
  return make(a, stack, choice)->forward(x, f);
}

inline ToyBlocks toy(const Stack& stack = kEncoder, double strength = 0.7) {
  return {stack.blocks(), stack.blocks_per_layer, strength};
}

inline Rows layer_norm(const Rows& x, double epsilon = kNormEpsilon) {
  return A(kWidth).norm("n", epsilon)(x);
}

}  // namespace residual::schemes
