#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "ops/dropout.h"
#include "ops/segments.h"
#include "ops/tensor.h"
#include "support/tensors.h"

// A fused operator in float32 against its definition in float64: values, and the gradient of every
// input.
namespace residual::ops {

using Tensors = std::vector<Tensor>;
using Operator = std::function<Tensors(const Tensors& inputs)>;

struct Pair {
  Operator fused, reference;
};

constexpr int64_t kRows[] = {1, 3, 64};
constexpr int64_t kWidths[] = {1, 7, 8, 9, 16, 17, 33, 256, 1023};  // around the vectors' widths
const Dropout kOff, kOn{.rate = 0.3, .key = 0x123456789ABCDEF0};

// N(0, 1) in float32.
inline Tensor normal(at::IntArrayRef sizes, uint64_t seed) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed), at::kFloat);
}

inline Segments segments(const std::vector<int64_t>& lengths) {
  Segments made;
  for (const int64_t length : lengths) made.offsets.push_back(made.offsets.back() + length);
  return made;
}

// The same values, two elements apart.
inline Tensor strided(const Tensor& t) { return at::stack({t, t}, -1).select(-1, 0); }

struct Setting {
  at::ScalarType precision = at::kFloat;
  bool strided = false;  // inputs are not contiguous
  bool adds = false;     // the inputs have gradients already
};

struct Outcome {
  Tensors values, gradients;
};

// The gradients are those of sum_i <w_i, y_i> with other random weights w_i for each output y_i, so
// that a gradient sent down the wrong stream shows, and no upstream gradient is 1.
inline Outcome run(const Operator& op, const Tensors& inputs, const Setting& setting) {
  Tensors leaves, before;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor values = inputs[i].to(setting.precision);
    leaves.push_back((setting.strided ? strided(values) : values.clone()).requires_grad_());
    before.push_back(normal(values.sizes(), 1000 + i).to(setting.precision));
    if (setting.adds) leaves[i].mutable_grad() = before[i].clone();
  }
  Outcome got{op(leaves), {}};
  Tensor objective = at::zeros({}, at::kDouble);
  for (size_t i = 0; i < got.values.size(); ++i) {
    const Tensor& y = got.values[i];
    if (y.requires_grad()) objective = objective + (y * normal(y.sizes(), 2000 + i)).sum();
  }
  objective.backward();
  for (size_t i = 0; i < leaves.size(); ++i) {
    Tensor gradient = leaves[i].grad();
    if (!gradient.defined()) gradient = at::zeros_like(leaves[i]);
    got.gradients.push_back(setting.adds ? gradient - before[i] : gradient);
  }
  return got;
}

// Float32 carries 6e-8; sums over rows, widths and vocabularies of these tests lose two digits.
constexpr double kTolerance = 1e-5;

inline void expect_parity(const Pair& op, const Tensors& inputs, double tolerance = kTolerance) {
  const Outcome want = run(op.reference, inputs, {.precision = at::kDouble});
  for (const bool is_strided : {false, true}) {
    for (const bool adds : {false, true}) {
      SCOPED_TRACE(testing::Message() << "strided " << is_strided << ", adds " << adds);
      const Outcome got = run(op.fused, inputs, {.strided = is_strided, .adds = adds});
      ASSERT_EQ(got.values.size(), want.values.size());
      for (size_t i = 0; i < want.values.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "value " << i);
        test::expect_close(got.values[i], want.values[i], tolerance);
      }
      for (size_t i = 0; i < inputs.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "gradient of input " << i);
        test::expect_close(got.gradients[i], want.gradients[i], tolerance);
      }
    }
  }
}

// Puts NaN and infinities into the last element of each input in turn: exactly those elements of
// the outputs must be finite that are by the definition.
inline void expect_same_nonfinite(const Pair& op, const Tensors& inputs) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
      SCOPED_TRACE(testing::Message() << bad << " in input " << i);
      Tensors spoilt = inputs, exact;
      spoilt[i] = inputs[i].clone();
      spoilt[i].view({-1})[-1] = bad;
      for (const Tensor& input : spoilt) exact.push_back(input.to(at::kDouble));
      const Tensors got = op.fused(spoilt), want = op.reference(exact);
      for (size_t j = 0; j < want.size(); ++j) {
        EXPECT_TRUE(at::equal(got[j].isfinite(), want[j].isfinite())) << "value " << j;
      }
    }
  }
}

}  // namespace residual::ops
