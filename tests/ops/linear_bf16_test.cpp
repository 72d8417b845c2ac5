#include "ops/linear_bf16.h"

// Fused operators with products in bfloat16 against their definitions in float64, within the
// rounding of bfloat16: 2^-9 of each factor, and of what a block keeps.

#include "ops/attention.h"
#include "ops/linear.h"
#include "ops/loss.h"
#include "ops/mode.h"
#include "ops/parity.h"

namespace residual::ops {
namespace {

constexpr double kRounding = 0.02;

class WithBf16 {
 public:
  WithBf16() { set_products(Products::bfloat16); }
  ~WithBf16() { set_products(Products::float32); }
};

// Values rounded to bfloat16, so that only what is computed from them is rounded.
Tensor rounded(at::IntArrayRef sizes, uint64_t seed) {
  return normal(sizes, seed).to(at::kBFloat16).to(at::kFloat);
}

double error(const Tensor& got, const Tensor& want) {
  const Tensor exact = want.to(at::kDouble);
  return ((got.to(at::kDouble) - exact).norm() / (exact.norm() + 1e-6)).item<double>();
}

// Every value and gradient differs by at most kRounding of the whole, in the root of squares.
void expect_near(const Pair& op, const Tensors& inputs) {
  const Outcome want = run(op.reference, inputs, {.precision = at::kDouble});
  const WithBf16 bf16;
  for (const bool adds : {false, true}) {
    const Outcome got = run(op.fused, inputs, {.adds = adds});
    for (size_t i = 0; i < want.values.size(); ++i) {
      EXPECT_LT(error(got.values[i], want.values[i]), kRounding) << "value " << i;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_LT(error(got.gradients[i], want.gradients[i]), kRounding) << "gradient " << i;
    }
  }
}

Pair linear_with(Result result) {
  return {[=](const Tensors& in) -> Tensors { return {linear(in[0], in[1], in[2], result)}; },
          [](const Tensors& in) -> Tensors { return {reference::linear(in[0], in[1], in[2])}; }};
}

TEST(Bf16, LinearIsNearItsDefinition) {
  for (const Result result : {Result::rows, Result::inside}) {
    for (const int64_t rows : {1, 3, 47, 49, 130}) {
      for (const int64_t width : {1, 7, 16, 33, 256}) {
        SCOPED_TRACE(testing::Message() << rows << " rows of " << width);
        expect_near(linear_with(result),
                    {rounded({rows, width}, 1), rounded({17, width}, 2), rounded({17}, 3)});
      }
    }
  }
}

// ReLU may take another side where a sum is near zero: all sums are multiples of 1/64, exactly.
TEST(Bf16, LinearReluIsNearItsDefinition) {
  const auto eighths = [](const Tensor& t) { return at::round(t * 8) / 8; };
  for (const Dropout& dropout : {kOff, kOn}) {
    const Pair op{
        [&](const Tensors& in) -> Tensors { return {linear_relu(in[0], in[1], in[2], dropout)}; },
        [&](const Tensors& in) -> Tensors {
          return {reference::linear_relu(in[0], in[1], in[2], dropout)};
        }};
    for (const int64_t rows : {1, 49, 600}) {
      expect_near(op, {eighths(normal({rows, 9}, 1)), eighths(normal({33, 9}, 2)),
                       eighths(normal({33}, 3)) + 1.0 / 128});
    }
  }
}

TEST(Bf16, AttentionOnBfloat16IsNearItsDefinition) {
  const auto half = [](const Tensor& t) { return t.to(at::kBFloat16); };
  for (const int64_t head_width : {5, 16}) {
    for (const Dropout& dropout : {kOff, kOn}) {
      AttentionSpec spec{3, Visibility::all, segments({1, 5, 2}), segments({4, 1, 18}), dropout};
      const int64_t d = 3 * head_width;
      const Pair cross{[&](const Tensors& in) -> Tensors {
                         return {cross_attention(half(in[0]), half(in[1]), spec)};
                       },
                       [&](const Tensors& in) -> Tensors {
                         const auto kv = in[1].chunk(2, 1);
                         return {reference::attention(in[0], kv[0], kv[1], spec)};
                       }};
      expect_near(cross, {rounded({8, d}, 1), rounded({23, 2 * d}, 2)});
      spec.queries = spec.keys;
      spec.visibility = Visibility::causal;
      const Pair self{
          [&](const Tensors& in) -> Tensors { return {self_attention(half(in[0]), spec)}; },
          [&](const Tensors& in) -> Tensors {
            const auto qkv = in[0].chunk(3, 1);
            return {reference::attention(qkv[0], qkv[1], qkv[2], spec)};
          }};
      expect_near(self, {rounded({23, 3 * d}, 3)});
    }
  }
}

TEST(Bf16, OutputLossIsNearItsDefinition) {
  for (const int64_t rows : {0, 1, 47, 49, 513}) {
    const Tensor target = at::arange(rows) * 7 % 33;
    const LossSpec spec{0.1, LabelSmoothing::others};
    const auto sums = [&](const auto& function) {
      return [&, function](const Tensors& in) -> Tensors {
        const LossSums made = function(in[0], in[1], target, spec);
        return {made.loss, made.nll};
      };
    };
    SCOPED_TRACE(rows);
    expect_near({sums(output_loss), sums(reference::output_loss)},
                {rounded({rows, 8}, 1), rounded({33, 8}, 2)});
  }
}

TEST(Bf16, KeepsTheRowsBetweenBlocksInFloat32) {
  const WithBf16 bf16;
  const Tensor x = normal({3, 8}, 1), w = normal({5, 8}, 2), b = normal({5}, 3);
  EXPECT_EQ(linear(x, w, b).scalar_type(), at::kFloat);
  EXPECT_EQ(linear(x, w, b, Result::inside).scalar_type(), at::kBFloat16);
  EXPECT_EQ(linear_relu(x, w, b, kOff).scalar_type(), at::kBFloat16);
  EXPECT_TRUE(kernels_fit({x}));  // norms and sums
}

}  // namespace
}  // namespace residual::ops
