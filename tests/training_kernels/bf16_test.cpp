#include "training_kernels/bf16.h"

#include <bit>
#include <limits>

#include "support/each_target.h"

namespace residual::kernels {
namespace {

RESIDUAL_ON_EACH_TARGET(Bf16Kernel);

float widened(Bf16 half) { return std::bit_cast<float>(uint32_t{half} << 16); }

// The nearest bfloat16 by its definition: of the two neighbours the nearer, then the even one.
Bf16 nearest(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto below = static_cast<Bf16>(bits >> 16);
  if (std::isnan(x)) return below | 0x40;
  if (std::abs(x) < 0x1p-126F) return below & 0x8000;
  const uint32_t rest = bits & 0xFFFF;
  const bool up = rest > 0x8000 || (rest == 0x8000 && below % 2 == 1);
  return static_cast<Bf16>(below + (up ? 1 : 0));
}

// Every sign and exponent with the fractions around a tie.
std::vector<float> awkward_floats() {
  std::vector<float> all;
  for (uint32_t upper = 0; upper < 0x10000; upper += 0x3F) {
    for (const uint32_t lower : {0x0000U, 0x0001U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      all.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  all.push_back(std::numeric_limits<float>::infinity());
  all.push_back(-std::numeric_limits<float>::max());
  return all;
}

TEST_P(Bf16Kernel, RoundsToTheNearest) {
  const std::vector<float> x = awkward_floats();
  for (const size_t count : {size_t{1}, size_t{15}, size_t{31}, size_t{33}, x.size()}) {
    std::vector<Bf16> got(count + 1, 7);
    to_bf16(x.data(), static_cast<int64_t>(count), got.data());
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(got[i], nearest(x[i])) << x[i];
    EXPECT_EQ(got[count], 7);
  }
}

TEST_P(Bf16Kernel, WidensExactly) {
  std::vector<Bf16> x;
  for (uint32_t bits = 0; bits < 0x10000; bits += 7) x.push_back(static_cast<Bf16>(bits));
  std::vector<float> got(x.size());
  from_bf16(x.data(), static_cast<int64_t>(x.size()), got.data());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(got[i]), uint32_t{x[i]} << 16);
  }
}

TEST_P(Bf16Kernel, GradientOfReluAndDropoutIsZeroWhereTheOutputIs) {
  const Dropout dropout{.rate = 0.3, .key = 1};
  for (const int count : kSizes) {
    const std::vector<float> y = random_floats(count, 1), dy = random_floats(count, 2);
    std::vector<Bf16> y_half(count), dy_half(count), got(count);
    to_bf16(y.data(), count, y_half.data());
    to_bf16(dy.data(), count, dy_half.data());
    relu_dropout_gradient(y_half.data(), dy_half.data(), dropout, count, got.data());
    for (int i = 0; i < count; ++i) {
      const float scaled = widened(dy_half[i]) * dropout.kept_scale();
      EXPECT_EQ(got[i], y[i] > 0 ? nearest(scaled) : Bf16{0});
    }
  }
}

}  // namespace
}  // namespace residual::kernels
