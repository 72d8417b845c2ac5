#include "ops/linear.h"

#include "ops/parity.h"

namespace residual::ops {
namespace {

const Pair kLinear{
    [](const Tensors& in) -> Tensors { return {linear(in[0], in[1], in[2])}; },
    [](const Tensors& in) -> Tensors { return {reference::linear(in[0], in[1], in[2])}; }};

Pair linear_relu_with(const Dropout& d) {
  return {[d](const Tensors& in) -> Tensors { return {linear_relu(in[0], in[1], in[2], d)}; },
          [d](const Tensors& in) -> Tensors {
            return {reference::linear_relu(in[0], in[1], in[2], d)};
          }};
}

// x, W and b as multiples of 1/8, b odd multiples of 1/128 more: every sum is exact in float32 and
// none is 0, so that ReLU cannot take different sides by rounding.
Tensors inputs(int64_t rows, int64_t in, int64_t out) {
  const auto eighths = [](const Tensor& t) { return at::round(t * 8) / 8; };
  return {eighths(normal({rows, in}, 1)), eighths(normal({out, in}, 2)),
          eighths(normal({out}, 3)) + 1.0 / 128};
}

TEST(Linear, AgreesWithItsDefinition) {
  for (const int64_t rows : kRows) {
    for (const int64_t width : kWidths) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << width);
      expect_parity(kLinear, inputs(rows, width, 17));
      expect_parity(kLinear, inputs(rows, 9, width));
    }
  }
}

TEST(Linear, AgreesWithItsDefinitionWithoutRowsAndBeyondAChunk) {
  for (const int64_t rows : {0, 511, 512, 513}) {
    SCOPED_TRACE(rows);
    expect_parity(kLinear, inputs(rows, 9, 7));
  }
}

TEST(Linear, SpreadsNonfiniteNumbersAsItsDefinition) {
  expect_same_nonfinite(kLinear, inputs(3, 17, 33));
}

TEST(LinearRelu, AgreesWithItsDefinition) {
  for (const Dropout& dropout : {kOff, kOn}) {
    for (const int64_t rows : kRows) {
      for (const int64_t width : kWidths) {
        SCOPED_TRACE(testing::Message() << rows << " rows of " << width << ", " << dropout.rate);
        expect_parity(linear_relu_with(dropout), inputs(rows, 9, width));
      }
    }
  }
}

// 17 outputs: chunks of 512 rows begin in the middle of a block of random numbers.
TEST(LinearRelu, AgreesWithItsDefinitionWithoutRowsAndBeyondAChunk) {
  for (const int64_t rows : {0, 511, 512, 513, 1025}) {
    SCOPED_TRACE(rows);
    expect_parity(linear_relu_with(kOn), inputs(rows, 9, 17));
  }
}

TEST(LinearRelu, SpreadsNonfiniteNumbersAsItsDefinition) {
  expect_same_nonfinite(linear_relu_with(kOff), inputs(3, 17, 33));
  expect_same_nonfinite(linear_relu_with(kOn), inputs(3, 17, 33));
}

}  // namespace
}  // namespace residual::ops
