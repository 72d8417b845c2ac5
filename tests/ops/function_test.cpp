#include "ops/function.h"

#include "ops/parity.h"

namespace residual::ops {
namespace {

TEST(ParameterGradient, IsAddedInPlaceToAGradientThatExists) {
  Tensor w = normal({3}, 1).requires_grad_();
  w.mutable_grad() = at::ones({3});
  const float* place = w.grad().data_ptr<float>();
  ParameterGradient gradient(w);
  EXPECT_EQ(gradient.data(), place);
  EXPECT_FALSE(gradient.returned().defined());
}

TEST(ParameterGradient, IsReturnedWhereNoneCanTakeIt) {
  Tensor w = normal({3}, 1).requires_grad_();
  EXPECT_TRUE(at::equal(ParameterGradient(w).returned(), at::zeros({3})));
  w.mutable_grad() = strided(at::ones({3}));
  EXPECT_TRUE(at::equal(ParameterGradient(w).returned(), at::zeros({3})));
  const Tensor computed = w * 2;
  EXPECT_TRUE(at::equal(ParameterGradient(computed).returned(), at::zeros({3})));
}

}  // namespace
}  // namespace residual::ops
