#include "training_kernels/bf16_product.h"

#include <bit>

#include "support/each_target.h"

namespace residual::kernels {
namespace {

RESIDUAL_ON_EACH_TARGET(Bf16Product);

// A matrix in both forms, its values rounded to bfloat16.
struct Factor {
  int64_t rows, columns;
  uint64_t seed;
  std::vector<float> exact = random_floats(rows * columns, seed);
  std::vector<Bf16> rounded = std::vector<Bf16>(exact.size());

  Factor(int64_t r, int64_t c, uint64_t s) : rows(r), columns(c), seed(s) {
    to_bf16(exact.data(), rows * columns, rounded.data());
  }
  Operand as(bool halves) const {
    return halves ? operand(rounded.data(), rows, columns) : operand(exact.data(), rows, columns);
  }
  float at(int64_t i, int64_t j) const {
    return std::bit_cast<float>(uint32_t{rounded[i * columns + j]} << 16);
  }
};

// The header's chain of fused multiply-adds from `start` on.
template <class A, class B>
float chain(float start, int64_t inner, const A& a, const B& b) {
  float sum = start;
  for (int64_t k = 0; k < inner; k += 2) {
    if (k + 1 < inner) sum = std::fma(a(k + 1), b(k + 1), sum);
    sum = std::fma(a(k), b(k), sum);
  }
  return sum;
}

// `exactly` is false without fused multiply-adds (before AVX2): sums are rounded twice as often.
void expect_same(const std::vector<float>& got, const std::vector<float>& want, bool exactly) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (exactly) {
      ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i])) << i;
    } else {
      ASSERT_NEAR(got[i], want[i], 1e-4) << i;
    }
  }
}

struct Shape {
  int64_t rows, in, out;
};
// Around a tile's rows, its vectors, a panel's columns and its depth, and odd everywhere.
constexpr Shape kShapes[] = {{1, 1, 1},    {5, 7, 15},   {6, 16, 17},   {7, 33, 63},
                             {13, 64, 65}, {48, 9, 130}, {3, 1030, 20}, {1027, 10, 50}};

void expect_products(const Shape& s, bool halves, bool exactly) {
  SCOPED_TRACE(testing::Message() << s.rows << " rows, " << s.in << " to " << s.out << ", halves "
                                  << halves);
  const Factor x(s.rows, s.in, 1), w(s.out, s.in, 2), dy(s.rows, s.out, 3);
  const std::vector<float> bias = random_floats(s.out, 4);
  std::vector<float> y(s.rows * s.out), dx(s.rows * s.in), dw(s.out * s.in), db = bias, want;

  multiply(x.as(halves), PackedFactor::of_transposed(w.as(halves)), bias.data(),
           matrix(y.data(), s.rows, s.out));
  for (int64_t i = 0; i < s.rows; ++i) {
    for (int64_t j = 0; j < s.out; ++j) {
      want.push_back(chain(
          bias[j], s.in, [&](int64_t k) { return x.at(i, k); },
          [&](int64_t k) { return w.at(j, k); }));
    }
  }
  expect_same(y, want, exactly);

  multiply(dy.as(halves), PackedFactor::of(w.as(halves)), nullptr, matrix(dx.data(), s.rows, s.in));
  want.clear();
  for (int64_t i = 0; i < s.rows; ++i) {
    for (int64_t j = 0; j < s.in; ++j) {
      want.push_back(chain(
          0, s.out, [&](int64_t k) { return dy.at(i, k); }, [&](int64_t k) { return w.at(k, j); }));
    }
  }
  expect_same(dx, want, exactly);

  for (const bool add : {false, true}) {
    weight_gradient(dy.as(halves), x.as(halves), matrix(dw.data(), s.out, s.in), add, db.data());
    const std::vector<float> start = add ? want : std::vector<float>(s.out * s.in);
    want.clear();
    for (int64_t i = 0; i < s.out; ++i) {
      for (int64_t j = 0; j < s.in; ++j) {
        want.push_back(chain(
            start[i * s.in + j], s.rows, [&](int64_t k) { return dy.at(k, i); },
            [&](int64_t k) { return x.at(k, j); }));
      }
    }
    expect_same(dw, want, exactly);
  }
  for (int64_t j = 0; j < s.out; ++j) {
    double sum = bias[j];
    for (int64_t i = 0; i < s.rows; ++i) sum += 2.0 * dy.at(i, j);
    EXPECT_NEAR(db[j], sum, 1e-3);
  }
}

TEST_P(Bf16Product, IsTheChainOfItsDefinitionBitForBit) {
  for (const Shape& shape : kShapes) {
    for (const bool halves : {false, true}) {
      expect_products(shape, halves, /*exactly=*/GetParam() < HWY_SSE4);
    }
  }
}

TEST_P(Bf16Product, OfARowDoesNotDependOnTheOthers) {
  const Factor x(20, 70, 1), w(90, 70, 2);
  const PackedFactor packed = PackedFactor::of_transposed(w.as(false));
  std::vector<float> all(20 * 90), one(90);
  multiply(x.as(true), packed, nullptr, matrix(all.data(), 20, 90));
  for (int64_t i = 0; i < 20; ++i) {
    multiply(x.as(true).part(i, 1), packed, nullptr, matrix(one.data(), 1, 90));
    EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + i * 90)) << i;
  }
}

TEST_P(Bf16Product, OfEmptyMatricesIsZeroOrTheBias) {
  const Factor none(0, 4, 1), w(5, 4, 2), narrow(3, 0, 3), empty(5, 0, 4);
  std::vector<float> y(15, 7), bias(5, 2), dw(20, 7);
  multiply(none.as(false), PackedFactor::of_transposed(w.as(false)), nullptr,
           matrix(y.data(), 0, 5));
  EXPECT_EQ(y, std::vector<float>(15, 7));
  multiply(narrow.as(false), PackedFactor::of_transposed(empty.as(false)), bias.data(),
           matrix(y.data(), 3, 5));
  EXPECT_EQ(y, std::vector<float>(15, 2));
  const Factor dy(0, 5, 5);
  weight_gradient(dy.as(false), none.as(false), matrix(dw.data(), 5, 4), /*add=*/false);
  EXPECT_EQ(dw, std::vector<float>(20, 0));
}

TEST_P(Bf16Product, SpreadsNotANumber) {
  Factor x(7, 33, 1);
  const Factor w(20, 33, 2);
  x.exact[2 * 33 + 32] = std::nanf("");
  std::vector<float> y(7 * 20);
  multiply(x.as(false), PackedFactor::of_transposed(w.as(false)), nullptr, matrix(y.data(), 7, 20));
  for (int64_t i = 0; i < 7 * 20; ++i) EXPECT_EQ(std::isnan(y[i]), i / 20 == 2) << i;
}

}  // namespace
}  // namespace residual::kernels
