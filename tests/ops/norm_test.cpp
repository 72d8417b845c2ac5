#include "ops/norm.h"

#include <cmath>

#include "ops/parity.h"

namespace residual::ops {
namespace {

constexpr double kEta = 0.7, kEpsilon = 1e-5;

bool is_rms = false;  // in all of the operators below
Affine affine(const Tensor& weight, const Tensor& bias) {
  if (is_rms) return {weight, {}, kEpsilon, true};
  return {weight, bias, kEpsilon};
}

class WithRms {
 public:
  WithRms() { is_rms = true; }
  ~WithRms() { is_rms = false; }
};

// All take x, f, d, weight, bias.
const Pair kNorm{
    [](const Tensors& in) -> Tensors { return {norm(in[0], affine(in[3], in[4]))}; },
    [](const Tensors& in) -> Tensors { return {reference::norm(in[0], affine(in[3], in[4]))}; }};

Pair add_norm_with(const Dropout& d) {
  return {[d](const Tensors& in) -> Tensors {
            return {add_norm(in[0], {in[1], d}, affine(in[3], in[4]))};
          },
          [d](const Tensors& in) -> Tensors {
            return {reference::add_norm(in[0], {in[1], d}, affine(in[3], in[4]))};
          }};
}

Pair dual_add_norm_with(const Dropout& dropout) {
  return {[dropout](const Tensors& in) -> Tensors {
            const auto [y, d] =
                dual_add_norm(in[0], in[2], {in[1], dropout}, kEta, affine(in[3], in[4]));
            return {y, d};
          },
          [dropout](const Tensors& in) -> Tensors {
            const auto [y, d] = reference::dual_add_norm(in[0], in[2], {in[1], dropout}, kEta,
                                                         affine(in[3], in[4]));
            return {y, d};
          }};
}

Pair add_with(const Dropout& d) {
  return {[d](const Tensors& in) -> Tensors {
            return {add(in[0], kEta, {in[1], d})};
          },
          [d](const Tensors& in) -> Tensors {
            return {reference::add(in[0], kEta, {in[1], d})};
          }};
}

Tensors inputs(int64_t rows, int64_t width) {
  return {normal({rows, width}, 1), normal({rows, width}, 2), normal({rows, width}, 3),
          normal({width}, 4), normal({width}, 5)};
}

void expect_all(const Tensors& in, double tolerance = kTolerance) {
  expect_parity(kNorm, in, tolerance);
  for (const Dropout& dropout : {kOff, kOn}) {
    SCOPED_TRACE(testing::Message() << "dropout " << dropout.rate);
    expect_parity(add_norm_with(dropout), in, tolerance);
    expect_parity(dual_add_norm_with(dropout), in, tolerance);
    expect_parity(add_with(dropout), in, tolerance);
  }
}

TEST(BlockBoundary, AgreesWithItsDefinition) {
  for (const int64_t rows : kRows) {
    for (const int64_t width : kWidths) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << width);
      expect_all(inputs(rows, width));
    }
  }
}

TEST(BlockBoundary, AgreesWithItsDefinitionByRootMeanSquares) {
  const WithRms by_rms;
  for (const int64_t rows : kRows) {
    for (const int64_t width : kWidths) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << width);
      expect_all(inputs(rows, width));
    }
  }
  expect_all(inputs(0, 17));
}

TEST(Norm, DividesByTheRootOfTheMeanSquare) {
  const Tensor x = normal({3, 7}, 1).to(at::kDouble), weight = normal({7}, 2).to(at::kDouble);
  const Tensor y = reference::norm(x, {weight, {}, 0.01, true});
  for (int64_t i = 0; i < 3; ++i) {
    double squares = 0;
    for (int64_t j = 0; j < 7; ++j) squares += std::pow(x[i][j].item<double>(), 2) / 7;
    for (int64_t j = 0; j < 7; ++j) {
      const double want =
          x[i][j].item<double>() / std::sqrt(squares + 0.01) * weight[j].item<double>();
      EXPECT_NEAR(y[i][j].item<double>(), want, 1e-12);
    }
  }
}

TEST(BlockBoundary, AgreesWithItsDefinitionWithoutRows) { expect_all(inputs(0, 17)); }

// Numbers of 10 000 are 1/1024 apart in float32, which is the tolerance. E[a^2] - E[a]^2 would be
// off by 8, where the variance is 1.
TEST(BlockBoundary, KeepsTheVarianceOfALargeMean) {
  Tensors in = inputs(3, 256);
  in[0] = 1e4 + in[0];
  expect_all(in, 2e-3);
}

TEST(BlockBoundary, SpreadsNonfiniteNumbersAsItsDefinition) {
  const Tensors in = inputs(3, 33);
  expect_same_nonfinite(kNorm, in);
  for (const Dropout& dropout : {kOff, kOn}) {
    expect_same_nonfinite(add_norm_with(dropout), in);
    expect_same_nonfinite(dual_add_norm_with(dropout), in);
    expect_same_nonfinite(add_with(dropout), in);
  }
}

// The last block of a stack leaves one of the two streams unused in some schemes.
TEST(BlockBoundary, SendsGradientFromEitherStreamAlone) {
  for (const size_t used : {0, 1}) {
    const auto only = [used](const Operator& op) -> Operator {
      return [=](const Tensors& in) -> Tensors { return {op(in)[used]}; };
    };
    const Pair both = dual_add_norm_with(kOn);
    expect_parity({only(both.fused), only(both.reference)}, inputs(3, 17));
  }
}

}  // namespace
}  // namespace residual::ops
