#include "ops/heads.h"

#include <cmath>

#include "ops/parity.h"

namespace residual::ops {
namespace {

// Rows of heads of `width` numbers, and angles for them.
struct Example {
  int64_t rows, heads, width;
  Tensor x = normal({rows, heads* width}, 1);
  Tensor angles = normal({rows, width / 2}, 2).to(at::kDouble);
  Tensor turns = at::cat({angles.cos(), angles.sin()}, 1);
};

// As complex numbers, in float64.
Tensor rotated(const Tensor& x, const Example& e) {
  const Tensor pairs = x.view({e.rows, e.heads, 2, e.width / 2});
  const Tensor turned = at::complex(pairs.select(2, 0), pairs.select(2, 1)) *
                        at::polar(at::ones_like(e.angles), e.angles).unsqueeze(1);
  return at::cat({at::real(turned), at::imag(turned)}, 2).reshape(x.sizes());
}

TEST(Rotate, AgreesWithComplexNumbers) {
  for (const int64_t half : {1, 3, 4, 5, 8, 9, 32}) {
    for (const int64_t rows : {0, 1, 5}) {
      const Example e{rows, 3, 2 * half};
      SCOPED_TRACE(testing::Message() << rows << " rows of " << e.width);
      expect_parity({[&](const Tensors& in) -> Tensors {
                       return {rotate(in[0], e.turns.to(in[0].scalar_type()))};
                     },
                     [&](const Tensors& in) -> Tensors { return {rotated(in[0], e)}; }},
                    {e.x});
    }
  }
}

// What makes the positions relative (section 3.2.1 of the paper).
TEST(Rotate, LeavesProductsThatDependOnTheDifferenceOfAnglesAlone) {
  const Example e{4, 1, 16};
  const Tensor more = e.angles + 0.7;
  const Tensor x = e.x.to(at::kDouble), y = normal({4, 16}, 3).to(at::kDouble);
  const Tensor zero = at::zeros_like(more), by = more - e.angles;
  const auto turned = [](const Tensor& rows, const Tensor& angles) {
    return rotate(rows, at::cat({angles.cos(), angles.sin()}, 1));
  };
  test::expect_close((turned(x, e.angles) * turned(y, more)).sum(1),
                     (turned(x, zero) * turned(y, by)).sum(1), 1e-12);
}

TEST(RepeatHeads, PutsCopiesSideBySideAndAddsTheirGradients) {
  const Pair pair = {
      [](const Tensors& in) -> Tensors { return {repeat_heads(in[0], 2, 3)}; },
      [](const Tensors& in) -> Tensors {
        const auto heads = in[0].chunk(2, 1);
        return {at::cat({heads[0], heads[0], heads[0], heads[1], heads[1], heads[1]}, 1)};
      }};
  for (const int64_t rows : {0, 1, 5}) {
    for (const int64_t width : {1, 7, 8, 17}) expect_parity(pair, {normal({rows, 2 * width}, 1)});
  }
}

}  // namespace
}  // namespace residual::ops
