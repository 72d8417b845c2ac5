#include "ops/mode.h"

#include "ops/parity.h"

namespace residual::ops {
namespace {

TEST(Mode, KernelsFitFloat32OnTheCpuOnly) {
  const Tensor single = at::zeros({2}, at::kFloat), exact = at::zeros({2}, at::kDouble);
  EXPECT_TRUE(kernels_fit({single, Tensor()}));
  EXPECT_FALSE(kernels_fit({single, exact}));
  EXPECT_FALSE(kernels_fit({single.to(at::kBFloat16)}));
  set_mode(Mode::reference);
  EXPECT_FALSE(kernels_fit({single}));
  set_mode(Mode::fused);
}

}  // namespace
}  // namespace residual::ops
