#pragma once

#include <gtest/gtest.h>

#include "ops/tensor.h"

namespace residual::test {

inline double largest_difference(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0) return 0;
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

// Every element within `tolerance` of the expected one, relative to the largest if that is above 1.
inline void expect_close(const Tensor& got, const Tensor& want, double tolerance) {
  ASSERT_EQ(got.sizes(), want.sizes());
  if (got.numel() == 0) return;
  const double size = std::max(1.0, want.abs().max().item<double>());
  EXPECT_LE(largest_difference(got, want), tolerance * size);
}

}  // namespace residual::test
